#include "gateway/tools/call_tools.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "gateway/base/visible_text.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"
#include "gateway/rpc/json_writer.h"
#include "gateway/tools/json_layout.h"
#include "gateway/tools/mcp_listing.h"
#include "gateway/tools/peer.h"
#include "gateway/tools/peer_listing.h"

namespace stdgate::tools {

namespace {

constexpr ToolOption kJsonOption{"--json", "", "for scripts"};
constexpr std::array kListOptions{kJsonOption, kUrlOption,  kConfigOption,  kKeyOption,
                                  kCaOption,   kCertOption, kCertKeyOption, kTimeoutOption};
constexpr ToolOption kRawOption{"--raw", "", "the whole response as it came"};
constexpr std::array kCallOptions{kRawOption, kUrlOption,  kConfigOption,  kKeyOption,
                                  kCaOption,  kCertOption, kCertKeyOption, kTimeoutOption};

// --- tools ----------------------------------------------------------------------------------

void write_tools(rpc::JsonWriter& json, const std::string& backend,
                 const std::vector<ListEntry>& entries) {
  for (const ListEntry& entry : entries) {
    json.begin_object();
    json.text("backend", backend);
    json.text("name", entry.name);
    json.text("description", entry.description);
    json.end_object();
  }
}

std::string tools_text(const std::string& backend, const std::vector<ListEntry>& entries) {
  size_t width = 0;
  for (const ListEntry& entry : entries) width = std::max(width, entry.name.size());
  std::string text = backend + "\n";
  for (const ListEntry& entry : entries) {
    std::string line = "  " + visible(padded(entry.name, width), VisibleText::line) +
                       first_line(entry.description);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// The names that are meant: one, or every MCP server.
tl::expected<std::vector<std::string>, Trouble> chosen(Peer& peer, const ToolArguments& arguments) {
  if (!arguments.words.empty()) return std::vector{arguments.words.front()};
  const auto backends = peer.backends();
  if (!backends) return tl::unexpected(backends.error());
  std::vector<std::string> names;
  for (const PeerBackend& backend : *backends) {
    if (backend.protocol == "mcp") names.push_back(backend.name);
  }
  if (names.empty()) return tl::unexpected(Trouble{kFailed, "there is no MCP server"});
  return names;
}

ToolOutput show_tools(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  const size_t most = arguments.has_command ? 0 : 1;
  if (arguments.words.size() > most) {
    return tool_error(kBadUsage, "tools takes the name of one backend, or -- COMMAND");
  }
  const auto peer = open_peer(arguments, surroundings);
  if (!peer) return failure(peer.error());
  const auto names = chosen(**peer, arguments);
  if (!names) return failure(names.error());
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_array();
  ToolOutput output;
  const auto lists = read_lists(**peer, *names, kListKinds[0]);
  for (size_t i = 0; i < names->size(); ++i) {
    const std::string& name = (*names)[i];
    const auto& entries = lists[i];
    if (!entries) {
      const ToolOutput trouble = failure(entries.error());
      output.exit_code = std::max(output.exit_code, trouble.exit_code);
      output.err += trouble.err;
      continue;
    }
    write_tools(json, name, *entries);
    output.out += tools_text(name, *entries);
  }
  json.end_array();
  if (arguments.has("--json")) output.out = json.take() + "\n";
  return output;
}

// --- call -----------------------------------------------------------------------------------

// What stands in the place of params: JSON, an object or an array.
std::optional<std::string> problem_of(const std::string& params) {
  std::string probe = R"({"jsonrpc":"2.0","method":"m","params":)" + params + "}";
  rpc::EnvelopeParser parser({});
  const auto document = parser.parse(probe);
  if (document && !document->batch && document->messages[0].ok() &&
      document->messages[0].envelope.params == params) {
    return std::nullopt;
  }
  return "PARAMS is a JSON object or array in one argument: '{\"name\":\"echo\"}'; found " + params;
}

ToolOutput call(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  std::vector<std::string> words = arguments.words;
  if (arguments.has_command) words.insert(words.begin(), std::string());
  if (words.size() < 2 || words.size() > 3) {
    return tool_error(kBadUsage,
                      "call: expected BACKEND METHOD [PARAMS], or METHOD [PARAMS] -- COMMAND");
  }
  const std::string params = words.size() == 3 ? words[2] : std::string();
  if (!params.empty()) {
    if (const auto problem = problem_of(params)) return tool_error(kBadUsage, *problem);
  }
  const auto peer = open_peer(arguments, surroundings);
  if (!peer) return failure(peer.error());
  const auto answer = (*peer)->call(words[0], words[1], params);
  if (!answer) return failure(answer.error());
  const auto response = read_response(*answer);
  if (!response) return failure(response.error());
  ToolOutput output;
  output.exit_code = response->is_error ? kFailed : kHealthy;
  const std::string_view shown =
      arguments.has("--raw") ? std::string_view(*answer) : response->payload;
  if (response->is_error && !arguments.has("--raw")) {
    return tool_error(kFailed, error_text(response->payload));
  }
  output.out = (surroundings.is_terminal ? laid_out(shown) : std::string(shown)) + "\n";
  return output;
}

constexpr std::string_view kToolsUsage =
    "  stdgate tools [options] [BACKEND]             of one backend, or of all\n"
    "  stdgate tools [options] -- COMMAND [ARG...]   of an MCP server\n";
constexpr std::string_view kToolsAbout =
    "Lists the tools of MCP servers: those of a running gateway, or of a command that\n"
    "is started for it.\n"
    "\n"
    "Exit code: 0, 1 a server refused, 2 usage, 3 no gateway there, or no answer.\n";
constexpr std::string_view kCallUsage =
    "  stdgate call [options] BACKEND METHOD [PARAMS]\n"
    "  stdgate call [options] METHOD [PARAMS] -- COMMAND [ARG...]\n";
constexpr std::string_view kCallAbout =
    "Calls one method of a running gateway's backend, or of a command that is started\n"
    "for it, and prints the result: laid out on a terminal, as it came elsewhere.\n"
    "MCP servers are greeted before.\n"
    "\n"
    "  stdgate call demo math/add '[2,3]'\n"
    "  stdgate call files tools/call '{\"name\":\"list\",\"arguments\":{}}'\n"
    "\n"
    "Exit code: 0 a result, 1 a JSON-RPC error, 2 usage, 3 no gateway or no answer.\n";

}  // namespace

const Tool kToolsTool{"tools", kToolsUsage, kToolsAbout, kListOptions, true, show_tools};
const Tool kCallTool{"call", kCallUsage, kCallAbout, kCallOptions, true, call};

}  // namespace stdgate::tools
