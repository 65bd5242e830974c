#include "gateway/tools/peer.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_parser.h"
#include "gateway/config/value_names.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"
#include "gateway/tools/conversation.h"
#include "gateway/tools/findings.h"
#include "gateway/tools/json_node.h"
#include "gateway/tools/local_files.h"
#include "transports/fetch/http_client.h"

namespace stdgate::tools {

namespace {

constexpr const char* kNotSet = "not-set";
constexpr size_t kMaxKeyFile = 64 << 10;
constexpr size_t kMaxPemFile = 4 << 20;

}  // namespace

std::optional<std::vector<PeerBackend>> listed_backends(std::string_view text) {
  const auto root = read_json(text);
  const JsonNode* const list = root ? root->find("backends") : nullptr;
  if (list == nullptr || list->kind != JsonNode::Kind::array) return std::nullopt;
  std::vector<PeerBackend> backends;
  for (const JsonNode& element : list->items) {
    PeerBackend backend{element.text_at("name"), element.text_at("protocol"), {}};
    if (backend.name.empty() || backend.protocol.empty()) continue;
    backend.is_default = element.is_true("default");
    for (const JsonNode& member : element.list_at("members")) {
      if (auto name = member.text()) backend.members.push_back(*std::move(name));
    }
    for (const JsonNode& path : element.list_at("paths")) {
      if (path.find("url") != nullptr) backend.places.push_back(path.text_at("url"));
    }
    backends.push_back(std::move(backend));
  }
  return backends;
}

tl::expected<config::Config, std::string> gateway_config_of(const ToolArguments& arguments,
                                                            const ToolSurroundings& surroundings) {
  auto config = config_of(arguments, surroundings);
  if (config) return config;
  // A client of the gateway need not have the variables that its backends need.
  const config::Environment lenient = [&surroundings](const std::string& name) {
    return std::optional(surroundings.environment(name).value_or(kNotSet));
  };
  auto rough = config_of(
      arguments, {surroundings.variables, lenient, surroundings.version, surroundings.is_terminal});
  return rough ? rough : config;
}

tl::expected<const config::BackendConfig*, std::string> find_backend(const config::Config& config,
                                                                     const std::string& name,
                                                                     std::string_view what) {
  const auto found = std::ranges::find(config.backends, name, &config::BackendConfig::name);
  if (found != config.backends.end()) return &*found;
  const auto server = std::ranges::find(config.servers, name, &config::ServerConfig::name);
  std::string text;
  if (server == config.servers.end()) {
    text = "no backend '" + name + "'; there are:";
    for (const config::BackendConfig& backend : config.backends) text += " " + backend.name;
    return tl::unexpected(std::move(text));
  }
  text = "'" + name + "' is a virtual server; ";
  text.append(what).append(" its members one by one:");
  for (const config::MemberConfig& member : server->members) text += " " + member.backend;
  return tl::unexpected(std::move(text));
}

fetch::GatewayAddress address_of(const config::Config& config) {
  const config::ListenerConfig& listener = config.listen.front();
  return address_of(listener, config.tls_of(listener) != nullptr);
}

fetch::GatewayAddress address_of(const config::ListenerConfig& listener, bool has_tls) {
  const auto address = Address::parse(listener.address);
  if (!address) return {"http://" + listener.address, {}};
  if (address->kind == Address::Kind::unix_socket) return {"http://localhost", address->path};
  std::string host = address->host;
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  const char* const scheme = has_tls ? "https://" : "http://";
  return {scheme + host + ":" + std::to_string(address->port), {}};
}

namespace {

// --- A gateway -------------------------------------------------------------------------------

// The meaning of a status whose body is no JSON-RPC. `key_file`: of the key that was sent; empty:
// none was.
std::string words_for(const fetch::HttpAnswer& answer, const std::string& url,
                      const std::string& key_file) {
  switch (answer.status) {
    case 401:
      if (!key_file.empty()) {
        return "the gateway does not accept the key of " + key_file +
               "; auth in its configuration names the keys that it does";
      }
      return "the gateway requires a credential; name a file with an API key: --api-key-file FILE";
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
  GatewayPeer(fetch::HttpOptions options, std::string key_file)
      : is_on_unix_socket_(!options.web.unix_socket.empty()),
        key_file_(std::move(key_file)),
        client_(std::move(options)) {}

  [[nodiscard]] bool is_on_unix_socket() const override { return is_on_unix_socket_; }

  tl::expected<std::vector<PeerBackend>, Trouble> backends() override {
    auto answer = client_.send("/");
    if (!answer) return tl::unexpected(Trouble{kUnreachable, answer.error()});
    auto backends = answer->status == 200 ? listed_backends(answer->body) : std::nullopt;
    if (backends) return *std::move(backends);
    return tl::unexpected(
        Trouble{kUnreachable, words_for(*answer, client_.url() + "/", key_file_)});
  }

  std::vector<Result> call_all(const std::vector<PeerCall>& calls) override {
    std::vector<fetch::HttpRequest> requests;
    requests.reserve(calls.size());
    for (const PeerCall& one : calls) {
      requests.push_back(
          {path_of(one.backend), rpc::request_text(++last_id_, one.method, one.params)});
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
    // A refused request has a body of its own; a refused call has a response.
    simdjson::dom::parser parser;
    simdjson::dom::element version;
    const bool is_response = parser.parse(simdjson::padded_string(answer->body))["jsonrpc"].get(
                                 version) == simdjson::SUCCESS;
    if (!is_response || answer->status == 401 || answer->status == 404) {
      const std::string elsewhere = answer->status == 404 ? served_elsewhere(backend) : "";
      if (!elsewhere.empty()) return tl::unexpected(Trouble{kUnreachable, elsewhere});
      return tl::unexpected(
          Trouble{kUnreachable, words_for(*answer, client_.url() + path, key_file_)});
    }
    return std::move(answer->body);
  }

  // Where a backend is served that takes no single calls; empty: there is none of this name.
  std::string served_elsewhere(const std::string& name) {
    const auto known = backends();
    if (!known) return {};
    const auto found = std::ranges::find(*known, name, &PeerBackend::name);
    if (found == known->end()) return {};
    if (found->protocol == "lsp") {
      return name + " is a language server, which is served over WebSocket only: at /" + name +
             "/ws";
    }
    if (found->protocol == "acp") {
      return name + " is an agent, which takes no single calls: it is served at /" + name +
             "/acp, and stdgate connect " + name + " speaks with it";
    }
    return {};
  }

  const bool is_on_unix_socket_;
  const std::string key_file_;
  fetch::HttpClient client_;
  uint64_t last_id_ = 0;
};

}  // namespace

tl::expected<void, std::string> read_tls_files(const ToolArguments& arguments,
                                               fetch::WebClientOptions& web) {
  if (arguments.has("--key") && !arguments.has("--cert")) {
    return tl::unexpected<std::string>("--key goes with --cert");
  }
  for (const ToolOption& option : {kCaOption, kCertOption, kCertKeyOption}) {
    if (!arguments.has(option.name)) continue;
    const auto text = config::read_text_file(arguments.value(option.name), kMaxPemFile);
    if (!text) return tl::unexpected(std::string(option.name) + ": " + text.error());
  }
  web.ca_file = arguments.value("--ca");
  web.certificate_file = arguments.value("--cert");
  web.key_file = arguments.value("--key", web.certificate_file);
  return {};
}

tl::expected<std::string, std::string> read_key(const std::string& file) {
  const auto text = config::read_text_file(file, kMaxKeyFile);
  if (!text) return tl::unexpected(text.error());
  for (std::string_view line : split(*text, '\n')) {
    line = trim(line, " \t\r");
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
  if (!arguments.has("--config") && !file_exists(std::string(kUsualFile))) return address_of({});
  const auto config = gateway_config_of(arguments, surroundings);
  if (config) return address_of(*config);
  return tl::unexpected(
      Trouble{kBadUsage, "the gateway's address is not known; --url names it\n" + config.error()});
}

namespace {

tl::expected<std::unique_ptr<Peer>, Trouble> open_gateway_peer(const ToolArguments& arguments,
                                                               const ToolSurroundings& surroundings,
                                                               Duration timeout) {
  fetch::HttpOptions options;
  const auto gateway = find_gateway(arguments, surroundings);
  if (!gateway) return tl::unexpected(gateway.error());
  options.url = gateway->url;
  options.web.unix_socket = gateway->unix_socket;
  options.timeout = timeout;
  if (const auto tls = read_tls_files(arguments, options.web); !tls) {
    return tl::unexpected(Trouble{kBadUsage, tls.error()});
  }
  if (arguments.has("--api-key-file")) {
    auto key = read_key(arguments.value("--api-key-file"));
    if (!key) return tl::unexpected(Trouble{kBadUsage, "--api-key-file: " + key.error()});
    options.api_key = *std::move(key);
  }
  return std::unique_ptr<Peer>(
      std::make_unique<GatewayPeer>(std::move(options), arguments.value("--api-key-file")));
}

// --- A command -------------------------------------------------------------------------------

class CommandPeer final : public Peer {
 public:
  CommandPeer(std::unique_ptr<CommandStage> stage, Duration timeout)
      : stage_(std::move(stage)),
        services_(stage_->services()),
        timeout_(timeout),
        child_(std::make_unique<Conversation>(services_, stage_->backend().framing)) {}
  ~CommandPeer() override { child_->end(stage_->backend().pool.grace); }
  CommandPeer(const CommandPeer&) = delete;
  CommandPeer& operator=(const CommandPeer&) = delete;

  // Greets the server: a modern one by server/discover, any other one by initialize.
  tl::expected<void, Trouble> open() {
    if (!child_->start(timeout_)) return tl::unexpected(why("could not be started"));
    if (stage_->backend().protocol != config::Protocol::mcp) return {};
    const config::Revision revision = stage_->backend().revision;
    if (revision != config::Revision::modern) {
      const rpc::WireId id = child_->next_id();
      const auto answer = child_->ask(id, services_.dialect.greet(id, std::nullopt), timeout_);
      const auto done = answer ? services_.dialect.finish_handshake(answer->envelope())
                               : tl::unexpected<std::string>("gave no answer to initialize");
      if (done) {
        child_->say(*done);
        return {};
      }
      if (revision == config::Revision::legacy) return tl::unexpected(why_not_open(done.error()));
    }
    const rpc::WireId id = child_->next_id();
    const auto answer = child_->ask(id, services_.dialect.probe(id), timeout_);
    if (!answer || !services_.dialect.facts(answer->envelope(), services_.dialect.traits().probe)) {
      return tl::unexpected(why_not_open("did neither initialize nor server/discover"));
    }
    stamp_ = services_.stamp;
    return {};
  }

  tl::expected<std::vector<PeerBackend>, Trouble> backends() override {
    const config::BackendConfig& backend = stage_->backend();
    return std::vector{PeerBackend{backend.name,
                                   std::string(config::name_of(backend.protocol)),
                                   {joined(backend.command, " ")}}};
  }

  std::vector<Result> call_all(const std::vector<PeerCall>& calls) override {
    std::vector<Result> results;
    results.reserve(calls.size());
    for (const auto& [backend, method, params] : calls) {
      const rpc::WireId id = child_->next_id();
      auto answer = child_->ask(id, rpc::request_text(id, method, stamped(params)), timeout_);
      if (answer) {
        results.emplace_back(std::move(answer->text));
      } else {
        results.emplace_back(tl::unexpected(why("gave no answer to " + method)));
      }
    }
    return results;
  }

 private:
  // With what a modern child demands of each request, if the caller has not said it.
  [[nodiscard]] std::string stamped(const std::string& params) const {
    if (stamp_.empty() || rpc::find_member(params, "_meta")) return params;
    const std::string meta = R"("_meta":{)" + stamp_ + "}";
    const size_t open = params.find('{');
    if (open == std::string::npos) return "{" + meta + "}";
    const bool is_empty = params.find('"', open) == std::string::npos;
    return "{" + meta + (is_empty ? "" : ",") + params.substr(open + 1);
  }

  Trouble why(const std::string& what) {
    child_->end(stage_->backend().pool.grace);
    const Observations& seen = child_->seen();
    std::string message = "the command " + what;
    if (seen.exit && seen.exited_by_itself) message += ": " + text_of(*seen.exit);
    for (const std::string& line : seen.last_words) message += "\n  | " + line;
    return {kUnreachable, message + "\nstdgate doctor says more about it"};
  }

  Trouble why_not_open(const std::string& what) {
    const auto fetch = package_fetch_of(stage_->backend());
    if (!fetch || child_->seen().exit) return why(what);
    Trouble trouble = why(what + "; " + fetch->text() + ", and perhaps still does");
    trouble.message += ", and --timeout 5m gives it longer";
    return trouble;
  }

  const std::unique_ptr<CommandStage> stage_;
  const ConversationServices services_;
  const Duration timeout_;
  std::string stamp_;
  const std::unique_ptr<Conversation> child_;
};

}  // namespace

tl::expected<std::unique_ptr<Peer>, Trouble> open_backend_peer(const config::Config& config,
                                                               const config::BackendConfig& backend,
                                                               const ToolSurroundings& surroundings,
                                                               Duration timeout) {
  auto stage = CommandStage::open(config, backend, surroundings);
  if (!stage) return tl::unexpected(Trouble{kUnreachable, stage.error()});
  const auto found = (*stage)->services().launcher.look_for((*stage)->services().launch);
  if (!found) return tl::unexpected(Trouble{kUnreachable, found.error().text()});
  auto peer = std::make_unique<CommandPeer>(*std::move(stage), timeout);
  if (auto opened = peer->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<Peer>(std::move(peer));
}

tl::expected<std::unique_ptr<Peer>, Trouble> open_peer(const ToolArguments& arguments,
                                                       const ToolSurroundings& surroundings) {
  const auto timeout = arguments.timeout(kAnswerTimeout);
  if (!timeout) return tl::unexpected(timeout.error());
  if (!arguments.has_command) return open_gateway_peer(arguments, surroundings, *timeout);
  for (const ToolOption& option :
       {kUrlOption, kConfigOption, kKeyOption, kCaOption, kCertOption, kCertKeyOption}) {
    if (!arguments.has(option.name)) continue;
    return tl::unexpected(
        Trouble{kBadUsage, std::string(option.name) + " goes with a gateway, not with a command"});
  }
  const auto config = config_of(arguments, surroundings);
  if (!config) return tl::unexpected(Trouble{kBadUsage, config.error()});
  return open_backend_peer(*config, config->backends.front(), surroundings, *timeout);
}

}  // namespace stdgate::tools
