#include "gateway/tools/gateway_peer.h"

#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "gateway/base/address.h"
#include "gateway/base/ascii.h"
#include "gateway/base/visible_text.h"
#include "gateway/config/text_file.h"
#include "gateway/tools/command_stage.h"

namespace stdgate::tools {

namespace {

constexpr const char* kUsualFile = "gateway.yaml";
constexpr const char* kNotSet = "not-set";
constexpr size_t kMaxKeyFile = 64 << 10;
constexpr size_t kMaxPemFile = 4 << 20;

// What an answer that is no JSON-RPC says about the way, by its status.
std::string words_for(const fetch::HttpAnswer& answer, const std::string& url) {
  switch (answer.status) {
    case 401:
      return "the gateway wants to know who calls: --api-key-file FILE has a key for it";
    case 403:
      return "the gateway does not let this client in: " + answer.body;
    case 404:
      return "nothing is served at " + url + "; stdgate ls lists the backends";
    default:
      return url + " answered with status " + std::to_string(answer.status) + ": " +
             answer.body.substr(0, 300);
  }
}

class GatewayPeer final : public Peer {
 public:
  explicit GatewayPeer(fetch::HttpOptions options)
      : is_on_unix_socket_(!options.gateway.unix_socket.empty()), client_(std::move(options)) {}

  [[nodiscard]] bool is_on_unix_socket() const override { return is_on_unix_socket_; }

  tl::expected<std::vector<PeerBackend>, Trouble> backends() override {
    auto answer = client_.send("/");
    if (!answer) return tl::unexpected(Trouble{kUnreachable, answer.error()});
    simdjson::dom::parser parser;
    simdjson::dom::array list;
    if (answer->status != 200 ||
        parser.parse(simdjson::padded_string(answer->body))["backends"].get(list) !=
            simdjson::SUCCESS) {
      return tl::unexpected(Trouble{kUnreachable, words_for(*answer, client_.url() + "/")});
    }
    std::vector<PeerBackend> backends;
    for (const simdjson::dom::element element : list) {
      std::string_view name;
      std::string_view protocol;
      if (element["name"].get(name) != simdjson::SUCCESS ||
          element["protocol"].get(protocol) != simdjson::SUCCESS) {
        continue;
      }
      PeerBackend backend{std::string(name), std::string(protocol), {}};
      simdjson::dom::array paths;
      if (element["paths"].get(paths) == simdjson::SUCCESS) {
        for (const simdjson::dom::element path : paths) {
          std::string_view text;
          if (path["url"].get(text) == simdjson::SUCCESS) backend.places.emplace_back(text);
        }
      }
      backends.push_back(std::move(backend));
    }
    return backends;
  }

  tl::expected<std::string, Trouble> call(const std::string& backend, const std::string& method,
                                          const std::string& params) override {
    return result_of(backend,
                     client_.send(path_of(backend), request_text(++last_id_, method, params)));
  }

  std::vector<Result> call_all(const std::vector<PeerCall>& calls) override {
    std::vector<fetch::HttpRequest> requests;
    requests.reserve(calls.size());
    for (const PeerCall& one : calls) {
      requests.push_back({path_of(one.backend), request_text(++last_id_, one.method, one.params)});
    }
    std::vector<fetch::HttpClient::Result> answers = client_.send_all(requests);
    std::vector<Result> results;
    results.reserve(calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      results.push_back(result_of(calls[i].backend, std::move(answers[i])));
    }
    return results;
  }

 private:
  static std::string path_of(const std::string& backend) { return "/" + backend + "/rpc"; }

  Result result_of(const std::string& backend, fetch::HttpClient::Result answer) {
    const std::string path = path_of(backend);
    if (!answer) return tl::unexpected(Trouble{kUnreachable, answer.error()});
    // Refusals of the way have a body of their own; those of calls are responses.
    simdjson::dom::parser parser;
    simdjson::dom::element version;
    const bool is_response = parser.parse(simdjson::padded_string(answer->body))["jsonrpc"].get(
                                 version) == simdjson::SUCCESS;
    if (!is_response || answer->status == 401 || answer->status == 404) {
      if (answer->status == 404 && is_language_server(backend)) {
        return tl::unexpected(
            Trouble{kUnreachable, backend +
                                      " is a language server, which is served over WebSocket "
                                      "only: at /" +
                                      backend + "/ws"});
      }
      return tl::unexpected(Trouble{kUnreachable, words_for(*answer, client_.url() + path)});
    }
    return std::move(answer->body);
  }

  bool is_language_server(const std::string& name) {
    const auto known = backends();
    return known && std::ranges::any_of(*known, [&name](const PeerBackend& one) {
             return one.name == name && one.protocol == "lsp";
           });
  }

  const bool is_on_unix_socket_;
  fetch::HttpClient client_;
  uint64_t last_id_ = 0;
};

}  // namespace

tl::expected<std::string, std::string> read_key(const std::string& file) {
  const auto text = config::read_text_file(file, kMaxKeyFile);
  if (!text) return tl::unexpected(text.error());
  std::string_view left = *text;
  while (!left.empty()) {
    const size_t end = std::min(left.find('\n'), left.size());
    std::string_view line = trim(left.substr(0, end), " \t\r");
    left.remove_prefix(std::min(end + 1, left.size()));
    if (line.starts_with("key ")) line = trim(line.substr(4), " ");
    if (line.empty() || line.front() == '#' || line.starts_with("hash ")) continue;
    if (line.starts_with("sha256:")) {
      return tl::unexpected(file + " has the hash of a key; the key itself is needed");
    }
    return std::string(line);
  }
  return tl::unexpected(file + " has no key");
}

tl::expected<fetch::GatewayAddress, Trouble> find_gateway(const ToolArguments& arguments,
                                                          const ToolSurroundings& surroundings) {
  if (arguments.has("--url")) {
    return fetch::parse_gateway_url(arguments.value("--url"))
        .map_error([](const std::string& error) {
          return Trouble{kBadUsage, "--url: " + error};
        });
  }
  std::error_code unreadable;
  if (!arguments.has("--config") && !std::filesystem::exists(kUsualFile, unreadable)) {
    return address_of({});
  }
  const auto config = gateway_config_of(arguments, surroundings);
  if (config) return address_of(*config);
  return tl::unexpected(
      Trouble{kBadUsage, "the gateway's address is not known; --url names it\n" + config.error()});
}

tl::expected<config::Config, std::string> gateway_config_of(const ToolArguments& arguments,
                                                            const ToolSurroundings& surroundings) {
  auto config = config_of(arguments, surroundings);
  if (config) return config;
  // What backends need of the environment of stdgate need not be there for its clients.
  const config::Environment lenient = [&surroundings](const std::string& name) {
    return std::optional(surroundings.environment(name).value_or(kNotSet));
  };
  auto rough = config_of(
      arguments, {surroundings.variables, lenient, surroundings.version, surroundings.is_terminal});
  return rough ? rough : config;
}

fetch::GatewayAddress address_of(const config::Config& config) {
  const config::ListenerConfig& listener = config.listen.front();
  const auto address = Address::parse(listener.address);
  if (!address) return {"http://" + listener.address, {}};
  if (address->kind == Address::Kind::unix_socket) return {"http://localhost", address->path};
  std::string host = address->host;
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  const char* const scheme = config.tls_of(listener) == nullptr ? "http://" : "https://";
  return {scheme + host + ":" + std::to_string(address->port), {}};
}

tl::expected<std::unique_ptr<Peer>, Trouble> open_gateway_peer(const ToolArguments& arguments,
                                                               const ToolSurroundings& surroundings,
                                                               Duration timeout) {
  fetch::HttpOptions options;
  auto gateway = find_gateway(arguments, surroundings);
  if (!gateway) return tl::unexpected(gateway.error());
  options.gateway = *std::move(gateway);
  options.ca_file = arguments.value("--ca");
  options.timeout = timeout;
  if (arguments.has("--key") && !arguments.has("--cert")) {
    return tl::unexpected(Trouble{kBadUsage, "--key goes with --cert"});
  }
  for (const ToolOption& option : {kCaOption, kCertOption, kCertKeyOption}) {
    if (!arguments.has(option.name)) continue;
    const auto text = config::read_text_file(arguments.value(option.name), kMaxPemFile);
    if (!text) {
      return tl::unexpected(Trouble{kBadUsage, std::string(option.name) + ": " + text.error()});
    }
  }
  options.certificate_file = arguments.value("--cert");
  options.key_file = arguments.value(arguments.has("--key") ? "--key" : "--cert");
  if (arguments.has("--api-key-file")) {
    auto key = read_key(arguments.value("--api-key-file"));
    if (!key) return tl::unexpected(Trouble{kBadUsage, "--api-key-file: " + key.error()});
    options.api_key = *std::move(key);
  }
  return std::unique_ptr<Peer>(std::make_unique<GatewayPeer>(std::move(options)));
}

}  // namespace stdgate::tools
