// Peer: who answers a tool's calls: a gateway that runs, or a command that is started for them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "gateway/app/client_snippets.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/tools/tool.h"
#include "transports/fetch/http_client.h"

namespace stdgate::tools {

using PeerBackend = app::ServedBackend;

struct PeerCall {
  std::string backend;
  std::string method;
  std::string params;  // raw JSON; empty: none
};

// The list of a gateway at "/", in JSON. Nothing: `text` is no such list.
std::optional<std::vector<PeerBackend>> listed_backends(std::string_view text);

class Peer {
 public:
  using Result = tl::expected<std::string, Trouble>;

  virtual ~Peer() = default;
  virtual tl::expected<std::vector<PeerBackend>, Trouble> backends() = 0;
  // Several calls, at once where that is possible; the results are in their order: whole responses
  // (JSON-RPC 2.0 section 5).
  virtual std::vector<Result> call_all(const std::vector<PeerCall>& calls) = 0;
  Result call(const std::string& backend, const std::string& method, const std::string& params) {
    return std::move(call_all({{backend, method, params}}).front());
  }
  // Whether the peer is reached over a Unix socket, which no URL names.
  [[nodiscard]] virtual bool is_on_unix_socket() const { return false; }
};

// Options of every tool that has one.
inline constexpr ToolOption kUrlOption{"--url", "URL", "the gateway (the address in gateway.yaml)"};
inline constexpr ToolOption kConfigOption{"--config", "FILE",
                                          "the file that has its address (gateway.yaml)"};
inline constexpr ToolOption kKeyOption{"--api-key-file", "FILE",
                                       "the file that has the API key to send"};
inline constexpr ToolOption kCaOption{"--ca", "FILE",
                                      "the authority of the gateway's certificate (PEM)"};
inline constexpr ToolOption kCertOption{"--cert", "FILE", "a certificate to send (PEM)"};
inline constexpr ToolOption kCertKeyOption{"--key", "FILE",
                                           "the key of that certificate (the one in --cert)"};
inline constexpr ToolOption kTimeoutOption{"--timeout", "TIME", "for a call (75s)"};
// Longer than a backend's default timeout, so that the gateway's own answer comes first.
inline constexpr Duration kAnswerTimeout = std::chrono::seconds(75);

// The command after "--", started and initialized as its protocol demands; it ends with the peer.
// Without a command: the gateway that --url or the configuration names. --timeout applies to the
// start and to each call.
tl::expected<std::unique_ptr<Peer>, Trouble> open_peer(const ToolArguments& arguments,
                                                       const ToolSurroundings& surroundings);

// A backend of the configuration, started and initialized as the gateway would do it; it ends with
// the peer. Only one such peer at a time (CommandStage).
tl::expected<std::unique_ptr<Peer>, Trouble> open_backend_peer(const config::Config& config,
                                                               const config::BackendConfig& backend,
                                                               const ToolSurroundings& surroundings,
                                                               Duration timeout);

// The backend of this name. The error has the names of the backends, or of the members of a virtual
// server. `what`: "doctor tries".
tl::expected<const config::BackendConfig*, std::string> find_backend(const config::Config& config,
                                                                     const std::string& name,
                                                                     std::string_view what);

// Where clients on this machine reach a listener, and the first one of a configuration.
fetch::GatewayAddress address_of(const config::ListenerConfig& listener, bool has_tls);
fetch::GatewayAddress address_of(const config::Config& config);

// The gateway's configuration, from the file of --config, else gateway.yaml. Succeeds even if
// environment variables are missing that only the gateway has.
tl::expected<config::Config, std::string> gateway_config_of(const ToolArguments& arguments,
                                                            const ToolSurroundings& surroundings);

// Takes the files that --ca, --cert and --key name, which can be read.
tl::expected<void, std::string> read_tls_files(const ToolArguments& arguments,
                                               fetch::WebClientOptions& web);

// The API key in a file: the line `key …` that `stdgate hash-key` prints, or a line with the key
// alone.
tl::expected<std::string, std::string> read_key(const std::string& file);

// The gateway's address from --url, else from the configuration, else the default address.
tl::expected<fetch::GatewayAddress, Trouble> find_gateway(const ToolArguments& arguments,
                                                          const ToolSurroundings& surroundings);

}  // namespace stdgate::tools
