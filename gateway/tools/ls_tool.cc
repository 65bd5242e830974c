#include "gateway/tools/ls_tool.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/app/permissions.h"
#include "gateway/base/visible_text.h"
#include "gateway/rpc/fault.h"
#include "gateway/rpc/json_writer.h"
#include "gateway/tools/backend_lives.h"
#include "gateway/tools/gateway_peer.h"
#include "gateway/tools/mcp_listing.h"
#include "gateway/tools/peer.h"
#include "gateway/tools/peer_listing.h"
#include "gateway/tools/principal_view.h"

namespace stdgate::tools {

namespace {

constexpr ToolOption kJsonOption{"--json", "", "for scripts"};
constexpr ToolOption kAsOption{"--as", "NAME[,ROLE...]",
                               "what this principal sees by the rules of gateway.yaml"};
constexpr std::array kLsOptions{kJsonOption, kAsOption,   kUrlOption,     kConfigOption, kKeyOption,
                                kCaOption,   kCertOption, kCertKeyOption, kTimeoutOption};

// --- The backends ---------------------------------------------------------------------------

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
    json.begin_array("places");
    for (const std::string& place : backend.places) json.text({}, place);
    json.end_array();
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
    std::string line = padded(backend.name, width);
    line.append(padded(backend.protocol, 7)).append(place);
    const auto life = lives.find(backend.name);
    if (life != lives.end()) line.append("  (").append(life->second).append(")");
    text.append(visible(line, VisibleText::line)) += '\n';
  }
  return text;
}

// --- What a principal sees ------------------------------------------------------------------

struct ShownList {
  std::string_view word;  // of an entry
  ListKind kind;
};
constexpr std::array<ShownList, 4> kShownLists{
    {{"tool", kListKinds[0]},
     {"resource", kListKinds[1]},
     {"template", {"resourceTemplates", "resources/templates/list", "uriTemplate"}},
     {"prompt", kListKinds[2]}}};

struct SeenEntry {
  std::string_view word;
  ListEntry entry;
};

struct SeenBackend {
  std::string name;
  bool has_lists = false;  // its protocol has some
  std::vector<SeenEntry> entries;
};

// A server need not have all lists, and for who is denied a list it is as if it had none.
bool is_absent(const Trouble& trouble) {
  return trouble.code == std::to_string(rpc::rpc_error_code(rpc::RpcError::method_not_found));
}

tl::expected<SeenBackend, Trouble> seen_of(Peer& peer, const config::Config& config,
                                           const config::BackendConfig& backend,
                                           const policy::Principal* principal) {
  SeenBackend seen{backend.name, backend.protocol == config::Protocol::mcp, {}};
  if (!seen.has_lists) return seen;
  PrincipalView view(config, backend, principal);
  for (const ShownList& list : kShownLists) {
    if (!view.shows_list(list.kind.method)) continue;
    auto entries = read_list(peer, backend.name, list.kind, &view);
    if (!entries && is_absent(entries.error())) continue;
    if (!entries) return tl::unexpected(entries.error());
    seen.entries.reserve(seen.entries.size() + entries->size());
    for (ListEntry& entry : *entries) seen.entries.push_back({list.word, std::move(entry)});
  }
  return seen;
}

std::string text_of(const SeenBackend& seen) {
  std::string text = seen.name + "\n";
  if (!seen.has_lists) return text + "  no lists; stdgate check --as says which methods\n";
  if (seen.entries.empty()) return text + "  nothing\n";
  size_t width = 0;
  for (const SeenEntry& seen_entry : seen.entries) {
    width = std::max(width, seen_entry.entry.name.size());
  }
  for (const SeenEntry& seen_entry : seen.entries) {
    std::string line = "  ";
    line.append(padded(std::string(seen_entry.word), 8))
        .append(visible(padded(seen_entry.entry.name, width), VisibleText::line))
        .append(first_line(seen_entry.entry.description));
    line.erase(line.find_last_not_of(' ') + 1);
    text.append(line) += '\n';
  }
  return text;
}

void write(rpc::JsonWriter& json, const SeenBackend& seen) {
  for (const SeenEntry& seen_entry : seen.entries) {
    json.begin_object();
    json.text("backend", seen.name);
    json.text("kind", seen_entry.word);
    json.text("name", seen_entry.entry.name);
    json.text("description", seen_entry.entry.description);
    json.end_object();
  }
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
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_array();
  ToolOutput output;
  for (const config::BackendConfig& backend : config->backends) {
    const auto seen = seen_of(**peer, *config, backend, *principal ? &**principal : nullptr);
    if (!seen) {
      const ToolOutput trouble = failure(seen.error());
      output.exit_code = std::max(output.exit_code, trouble.exit_code);
      output.err += trouble.err;
      continue;
    }
    write(json, *seen);
    output.out += text_of(*seen);
  }
  json.end_array();
  if (arguments.has("--json")) output.out = json.take() + "\n";
  return output;
}

ToolOutput list(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (!arguments.words.empty()) return tool_error(kBadUsage, "ls takes no names");
  if (arguments.has("--as")) return list_as(arguments, surroundings);
  const auto peer = open_peer(arguments, surroundings);
  if (!peer) return failure(peer.error());
  const auto backends = (*peer)->backends();
  if (!backends) return failure(backends.error());
  const Lives lives = backend_lives(arguments, surroundings);
  return tool_text(arguments.has("--json") ? backends_json(*backends, lives)
                                           : backends_text(*backends, lives));
}

constexpr std::string_view kLsUsage =
    "  stdgate ls [options]               of the gateway that gateway.yaml describes\n"
    "  stdgate ls [options] --url URL     of another one\n"
    "  stdgate ls [options] --as NAME     what this principal sees there\n";
constexpr std::string_view kLsAbout =
    "Lists the backends of a running gateway, and where clients reach them. On its\n"
    "machine also: which of them sleep, what is remembered of those, and how many of\n"
    "their processes have been replaced, and why. With\n"
    "--as: the tools, resources and prompts of its MCP servers that the rules let a\n"
    "principal see. \"anonymous\" is who has no name. The gateway is asked with the\n"
    "key of --api-key-file, and what that one may not see is left out too.\n"
    "\n"
    "Exit code: 0, 1 a server refused, 2 usage, 3 no gateway there, or no answer.\n";

}  // namespace

const Tool kLsTool{"ls", kLsUsage, kLsAbout, kLsOptions, false, list};

}  // namespace stdgate::tools
