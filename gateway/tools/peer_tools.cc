// `stdgate ls`, `tools`, `call` and `snippet`: the words that ask a running gateway, or a command.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "gateway/app/client_snippets.h"
#include "gateway/app/permissions.h"
#include "gateway/base/encodings.h"
#include "gateway/config/config.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/tool_search.h"
#include "gateway/tools/backend_lives.h"
#include "gateway/tools/listing.h"
#include "gateway/tools/peer.h"

namespace stdgate::tools {

namespace {

constexpr ToolOption kJsonOption{"--json", "", "print JSON, for scripts"};
constexpr ToolOption kRawOption{"--raw", "", "print the whole response as it came"};
constexpr ToolOption kAsOption{"--as", "NAME[,ROLE...]",
                               "list what the rules let this principal see"};
constexpr std::array kSnippetOptions{kUrlOption,  kConfigOption,  kKeyOption,    kCaOption,
                                     kCertOption, kCertKeyOption, kTimeoutOption};

// A tool's own options, then the options that name the peer.
template <class... Option>
constexpr auto with_peer_options(const Option&... own) {
  std::array<ToolOption, sizeof...(own) + kSnippetOptions.size()> all{own...};
  std::copy(kSnippetOptions.begin(), kSnippetOptions.end(), all.begin() + sizeof...(own));
  return all;
}
constexpr auto kLsOptions = with_peer_options(kJsonOption, kAsOption);
constexpr auto kListOptions = with_peer_options(kJsonOption);
constexpr auto kCallOptions = with_peer_options(kRawOption);

// --- Lists of entries ------------------------------------------------------------------------

struct ShownEntry {
  std::string_view kind;  // "tool"; empty: all are of one kind, which is not shown
  ListEntry entry;
};

// The entries of one backend after the other, as text and as JSON, and which had none to give.
class EntryReport {
 public:
  EntryReport() { json_.begin_array(); }

  void fail(const Trouble& trouble) { out_.fail(trouble); }
  void warn(std::string_view text) { out_.warn(text); }

  // `nothing`: a line in the place of no entries; empty: none.
  void add(const std::string& backend, const std::vector<ShownEntry>& entries,
           std::string_view nothing = {}) {
    size_t width = 0;
    const auto title = [](const ShownEntry& shown) {
      return shown.entry.name + shown.entry.params;
    };
    for (const ShownEntry& shown : entries) width = std::max(width, title(shown).size());
    out_.out += backend + "\n";
    if (entries.empty() && !nothing.empty()) out_.out.append("  ").append(nothing) += '\n';
    for (const ShownEntry& shown : entries) {
      write(backend, shown);
      std::string line = "  ";
      if (!shown.kind.empty()) line += padded(std::string(shown.kind), 8);
      line += visible(padded(title(shown), width), VisibleText::line);
      line += first_line(shown.entry.description);
      out_.out.append(line, 0, line.find_last_not_of(' ') + 1) += '\n';
    }
  }

  ToolOutput take(bool as_json) {
    json_.end_array();
    if (as_json) out_.out = json_.take() + "\n";
    return std::move(out_);
  }

 private:
  void write(const std::string& backend, const ShownEntry& shown) {
    json_.begin_object();
    json_.text("backend", backend);
    if (!shown.kind.empty()) json_.text("kind", shown.kind);
    json_.text("name", shown.entry.name);
    if (!shown.entry.params.empty()) json_.text("params", shown.entry.params);
    json_.text("description", shown.entry.description);
    json_.end_object();
  }

  rpc::JsonWriter json_{rpc::JsonWriter::Layout::lines};
  ToolOutput out_;
};

void append(std::vector<ShownEntry>& shown, std::string_view kind, std::vector<ListEntry> entries) {
  shown.reserve(shown.size() + entries.size());
  for (ListEntry& entry : entries) shown.push_back({kind, std::move(entry)});
}

// --- ls --------------------------------------------------------------------------------------

using Lives = std::map<std::string, std::string>;

std::string backends_json(const std::vector<PeerBackend>& backends, const Lives& lives) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_array();
  for (const PeerBackend& backend : backends) {
    json.begin_object();
    json.text("name", backend.name);
    json.text("protocol", backend.protocol);
    if (const auto life = lives.find(backend.name); life != lives.end()) {
      json.text("processes", life->second);
    }
    write_texts(json, "places", backend.places);
    json.end_object();
  }
  json.end_array();
  return json.take() + "\n";
}

std::string backends_text(const std::vector<PeerBackend>& backends, const Lives& lives) {
  size_t width = 0;
  for (const PeerBackend& backend : backends) width = std::max(width, backend.name.size());
  std::string text;
  for (const PeerBackend& backend : backends) {
    const std::string place = backend.places.empty() ? std::string() : backend.places.front();
    std::string line = padded(backend.name, width) + padded(backend.protocol, 7) + place;
    const auto life = lives.find(backend.name);
    if (life != lives.end()) line.append("  (").append(life->second).append(")");
    text.append(visible(line, VisibleText::line)) += '\n';
  }
  return text;
}

struct ShownList {
  std::string_view word;  // of an entry
  ListKind kind;
};
constexpr std::array<ShownList, 4> kShownLists{
    {{"tool", kListKinds[0]},
     {"resource", kListKinds[1]},
     {"template", list_kind(mcp::McpListKind::templates)},
     {"prompt", kListKinds[2]}}};
// As the OpenRPC document of a backend has them.
constexpr std::array<ShownList, 1> kShownMethods{{{"method", kMethods}}};

// The name that a virtual server shows for a member's own one.
std::string shown_name(const ShownList& list, const config::MemberConfig& member,
                       const std::string& own) {
  if (list.word == "tool") {
    return servers::shown_tool_name(member.prefix, servers::renamed(member.tools, own));
  }
  return list.word == "prompt" ? member.prefix + own : own;
}

// Elements that the members' rules hide from the principal, by their names at the virtual server.
// None for a backend.
std::set<std::string> hidden_by_members(Peer& peer, const config::Config& config,
                                        const std::string& server, const ShownList& list,
                                        const policy::Principal* principal) {
  std::set<std::string> hidden;
  const auto of = std::ranges::find(config.servers, server, &config::ServerConfig::name);
  if (of == config.servers.end()) return hidden;
  for (const config::MemberConfig& member : of->members) {
    const auto backend =
        std::ranges::find(config.backends, member.backend, &config::BackendConfig::name);
    PrincipalView view(config, *backend, principal);
    const bool sees_list = view.shows_list(list.kind.method);
    const Listed all = read_list(peer, member.backend, list.kind, nullptr);
    const Listed seen =
        sees_list ? read_list(peer, member.backend, list.kind, &view) : std::vector<ListEntry>();
    if (!all || !seen) continue;  // it is down, or has no such list
    for (const ListEntry& one : *all) {
      if (std::ranges::find(*seen, one.name, &ListEntry::name) == seen->end()) {
        hidden.insert(shown_name(list, member, one.name));
      }
    }
  }
  return hidden;
}

// What the principal sees of these lists.
tl::expected<std::vector<ShownEntry>, Trouble> seen_of(Peer& peer, const config::Config& config,
                                                       const config::BackendConfig& backend,
                                                       std::span<const ShownList> lists,
                                                       const policy::Principal* principal) {
  std::vector<ShownEntry> seen;
  PrincipalView view(config, backend, principal);
  for (const ShownList& list : lists) {
    if (!view.shows_list(list.kind.method)) continue;
    auto entries = read_list(peer, backend.name, list.kind, &view);
    // A server need not have all lists, and for who is denied a list it is as if it had none.
    if (!entries && is_unknown_method(entries.error().code)) continue;
    if (!entries) return tl::unexpected(entries.error());
    const auto hidden = hidden_by_members(peer, config, backend.name, list, principal);
    std::erase_if(*entries, [&](const ListEntry& one) { return hidden.contains(one.name); });
    append(seen, list.word, *std::move(entries));
  }
  return seen;
}

ToolOutput list_as(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (arguments.has_command) return tool_error(kBadUsage, "--as goes with a gateway");
  const auto config = gateway_config_of(arguments, surroundings);
  if (!config) {
    return tool_error(
        kBadUsage, "--as: the rules are not known; --config names their file\n" + config.error());
  }
  const auto principal = app::principal_of(*config, arguments.value("--as"), surroundings.now);
  if (!principal) return tool_error(kBadUsage, principal.error());
  const auto peer = open_peer(arguments, surroundings);
  if (!peer) return failure(peer.error());
  EntryReport report;
  for (const config::BackendConfig& backend : config::all_that_is_served(*config)) {
    const bool is_described = backend.document.document != nullptr;
    if (backend.protocol != config::Protocol::mcp && !is_described) {
      report.add(backend.name, {}, "no lists; stdgate check --as says which methods");
      continue;
    }
    const auto* const who = *principal ? &**principal : nullptr;
    const std::span<const ShownList> lists =
        is_described ? std::span<const ShownList>(kShownMethods) : kShownLists;
    const auto seen = seen_of(**peer, *config, backend, lists, who);
    seen ? report.add(backend.name, *seen, "nothing") : report.fail(seen.error());
  }
  return report.take(arguments.has("--json"));
}

ToolOutput list_backends(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (!arguments.words.empty()) return tool_error(kBadUsage, "ls takes no names");
  if (arguments.has("--as")) return list_as(arguments, surroundings);
  const auto peer = open_peer(arguments, surroundings);
  if (!peer) return failure(peer.error());
  const auto backends = (*peer)->backends();
  if (!backends) return failure(backends.error());
  const BackendLives lives = backend_lives(arguments, surroundings);
  ToolOutput output = tool_text(arguments.has("--json") ? backends_json(*backends, lives.texts)
                                                        : backends_text(*backends, lives.texts));
  if (!lives.unknown.empty()) {
    output.err = "stdgate: " + visible(lives.unknown, VisibleText::line) + "\n";
  }
  return output;
}

// --- tools -----------------------------------------------------------------------------------

// The backend that is named, or every MCP server.
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

// Tools of MCP servers. Of others, when one is named, the methods that it describes.
ListKind kind_of(Peer& peer, const std::vector<std::string>& names) {
  const auto backends = names.size() == 1 ? peer.backends() : std::vector<PeerBackend>();
  if (!backends) return kListKinds[0];
  const auto named = std::ranges::find(*backends, names.front(), &PeerBackend::name);
  const bool is_other = named != backends->end() && named->protocol != "mcp";
  return is_other ? kMethods : kListKinds[0];
}

ToolOutput list_tools(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  const size_t most = arguments.has_command ? 0 : 1;
  if (arguments.words.size() > most) {
    return tool_error(kBadUsage, "tools takes the name of one backend, or -- COMMAND");
  }
  const auto peer = open_peer(arguments, surroundings);
  if (!peer) return failure(peer.error());
  const auto names = chosen(**peer, arguments);
  if (!names) return failure(names.error());
  EntryReport report;
  MissingMembers missing;
  auto lists = read_lists(**peer, *names, kind_of(**peer, *names), nullptr, &missing);
  for (size_t i = 0; i < names->size(); ++i) {
    if (!lists[i]) {
      report.fail(lists[i].error());
      continue;
    }
    std::vector<ShownEntry> entries;
    append(entries, {}, *std::move(lists[i]));
    report.add((*names)[i], entries);
  }
  for (const auto& [server, members] : missing) {
    std::string text = server + ": its list may lack the tools of";
    for (const std::string& member : members) text.append(" ").append(member);
    report.warn(text + "; stdgate ls says why");
  }
  return report.take(arguments.has("--json"));
}

// --- call ------------------------------------------------------------------------------------

// Why `params`, which are not empty, cannot stand in a request; nothing: they are a JSON object or
// array.
std::optional<std::string> problem_of(const std::string& params) {
  std::string probe = rpc::notification_text("m", params);
  rpc::EnvelopeParser parser({});
  const auto document = parser.parse(probe);
  if (document && !document->batch && document->messages[0].ok() &&
      document->messages[0].envelope.params == params) {
    return std::nullopt;
  }
  return "PARAMS is a JSON object or array in one argument: '{\"name\":\"echo\"}'; found " + params;
}

// For who has called a tool of an MCP server as if it were a method; empty: that is not it.
std::string hint_on_tool(Peer& peer, const std::string& backend, const std::string& method,
                         std::string_view error) {
  if (!is_unknown_method(rpc::member_or_empty(error, "code"))) return {};
  const auto tools = read_list(peer, backend, kListKinds[0], nullptr);
  if (!tools || std::ranges::find(*tools, method, &ListEntry::name) == tools->end()) return {};
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  json.text("name", method);
  json.raw("arguments", "{…}");
  json.end_object();
  return "\n" + method + " is a tool, and tools are called by tools/call '" + json.take() + "'";
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
  const bool is_raw = arguments.has("--raw");
  if (response->is_error && !is_raw) {
    return tool_error(kFailed, error_text(response->payload) +
                                   hint_on_tool(**peer, words[0], words[1], response->payload));
  }
  const std::string_view shown = is_raw ? std::string_view(*answer) : response->payload;
  ToolOutput output =
      tool_text((surroundings.is_terminal ? laid_out(shown) : std::string(shown)) + "\n");
  // A tool of MCP that has failed says so in its result.
  const bool has_failed =
      words[1] == "tools/call" && rpc::member_or_empty(response->payload, "isError") == "true";
  output.exit_code = response->is_error || has_failed ? kFailed : kHealthy;
  return output;
}

// --- snippet ---------------------------------------------------------------------------------

constexpr std::string_view kNoAddress = "http://localhost/";  // how a Unix socket is asked

ToolOutput print_snippets(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  const std::vector<std::string>& words = arguments.words;
  if (words.empty() || words.size() > 2) {
    return tool_error(kBadUsage, "snippet: expected CLIENT, and perhaps one BACKEND");
  }
  const std::vector<std::string_view> clients = app::snippet_clients();
  if (std::ranges::find(clients, words[0]) == clients.end()) {
    std::string names;
    for (const std::string_view name : clients) names.append(" ").append(name);
    return tool_error(kBadUsage, "snippet: unknown client '" + words[0] + "'; there are:" + names);
  }
  const auto peer = open_peer(arguments, surroundings);
  if (!peer) return failure(peer.error());
  auto backends = (*peer)->backends();
  if (!backends) return failure(backends.error());
  if (words.size() == 2) {
    std::erase_if(*backends, [&](const PeerBackend& backend) { return backend.name != words[1]; });
    if (backends->empty()) {
      return tool_error(kFailed, "no backend '" + words[1] + "'; stdgate ls lists them");
    }
  } else {
    backends = app::without_members(std::vector(*backends));
  }
  app::Snippet snippet =
      app::snippet_for(words[0], *backends, arguments.has(kKeyOption.name)).value();
  ToolOutput output = tool_text(std::move(snippet.text));
  if (surroundings.is_terminal) output.err = "stdgate: for " + std::string(snippet.where) + "\n";
  if ((*peer)->is_on_unix_socket() && output.out.find(kNoAddress) != std::string::npos) {
    output.err +=
        "stdgate: warning: at a Unix socket no client has a URL; auth.public_url says where\n"
        "  clients reach the gateway, or --url names an address of it\n";
  }
  return output;
}

}  // namespace

extern const Tool kLsTool{
    "ls",
    "",
    "list the backends of a running gateway",
    "  stdgate ls [options]               the gateway that gateway.yaml describes\n"
    "  stdgate ls [options] --url URL     another gateway\n"
    "  stdgate ls [options] --as NAME     what this principal sees there\n",
    "Lists the backends of a running gateway, and where clients reach them. It also\n"
    "says which backends fail and why, which start or sleep, and how many processes\n"
    "were replaced. It reads that from the admin address, which gateway.yaml or\n"
    "--config FILE names.\n"
    "\n"
    "--as lists the tools, resources and prompts of MCP servers that the rules let a\n"
    "principal see; \"anonymous\" is a client without a name. The gateway is asked\n"
    "with the key of --api-key-file, so what that key may not see is missing too.\n"
    "\n"
    "Exit code: 0, 1 a server refused, 2 usage, 3 no gateway there, or no answer.\n",
    kLsOptions,
    false,
    list_backends};

extern const Tool kToolsTool{
    "tools",
    "[BACKEND]",
    "list the tools of MCP servers",
    "  stdgate tools [options] [BACKEND]             one backend, or all\n"
    "  stdgate tools [options] -- COMMAND [ARG...]   an MCP server\n",
    "Lists the tools of MCP servers: of a running gateway, or of a command that it\n"
    "starts. For a backend of another protocol it lists the methods of its OpenRPC\n"
    "document (rpc.discover), with their params.\n"
    "\n"
    "Exit code: 0, 1 a server refused, 2 usage, 3 no gateway there, or no answer.\n",
    kListOptions,
    true,
    list_tools};

extern const Tool kCallTool{
    "call",
    "BACKEND METHOD [PARAMS]",
    "call a method of a backend",
    "  stdgate call [options] BACKEND METHOD [PARAMS]\n"
    "  stdgate call [options] METHOD [PARAMS] -- COMMAND [ARG...]\n",
    "Calls one method of a running gateway's backend, or of a command that it starts,\n"
    "and prints the result: indented on a terminal, and as it came elsewhere. With an\n"
    "MCP server it does the handshake before.\n"
    "\n"
    "  stdgate call demo math/add '[2,3]'\n"
    "  stdgate call files tools/call '{\"name\":\"list\",\"arguments\":{}}'\n"
    "\n"
    "Exit code: 0 a result, 1 a JSON-RPC error or a tool's isError, 2 usage,\n"
    "3 no gateway or no answer.\n",
    kCallOptions,
    true,
    call};

extern const Tool kSnippetTool{
    "snippet",
    "CLIENT",
    "print a client's settings, to paste",
    "  stdgate snippet [options] CLIENT [BACKEND]\n"
    "\n"
    "Clients: claude-code, claude-desktop, cursor, vscode, codex, gemini, zed, curl,\n"
    "npm.\n",
    "Prints the settings that let a client reach the backends of a running gateway:\n"
    "virtual servers, and the backends that are no member of one. With --api-key-file\n"
    "the place of the key is marked. The key is not printed.\n"
    "\n"
    "Exit code: 0, 1 no such backend, 2 usage, 3 no gateway there.\n",
    kSnippetOptions,
    false,
    print_snippets};

}  // namespace stdgate::tools
