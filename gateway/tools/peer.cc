#include "gateway/tools/peer.h"

#include <chrono>

#include "gateway/config/config_parser.h"
#include "gateway/rpc/json_string.h"
#include "gateway/tools/command_peer.h"
#include "gateway/tools/gateway_peer.h"

namespace stdgate::tools {

namespace {

constexpr Duration kAnswerTimeout = std::chrono::seconds(60);

}  // namespace

std::vector<Peer::Result> Peer::call_all(const std::vector<PeerCall>& calls) {
  std::vector<Result> results;
  results.reserve(calls.size());
  for (const PeerCall& one : calls) results.push_back(call(one.backend, one.method, one.params));
  return results;
}

tl::expected<std::unique_ptr<Peer>, Trouble> open_peer(const ToolArguments& arguments,
                                                       const ToolSurroundings& surroundings) {
  Duration timeout = kAnswerTimeout;
  if (arguments.has("--timeout")) {
    const auto given = config::parse_duration(arguments.value("--timeout"));
    if (!given) return tl::unexpected(Trouble{kBadUsage, "--timeout: " + given.error()});
    timeout = *given;
  }
  if (!arguments.has_command) return open_gateway_peer(arguments, surroundings, timeout);
  for (const ToolOption& option :
       {kUrlOption, kConfigOption, kKeyOption, kCaOption, kCertOption, kCertKeyOption}) {
    if (!arguments.has(option.name)) continue;
    return tl::unexpected(
        Trouble{kBadUsage, std::string(option.name) + " goes with a gateway, not with a command"});
  }
  return open_command_peer(arguments, surroundings, timeout);
}

std::string request_text(uint64_t id, std::string_view method, std::string_view params) {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)";
  rpc::append_json_string(text, method);
  if (!params.empty()) text.append(R"(,"params":)").append(params);
  return text + "}";
}

}  // namespace stdgate::tools
