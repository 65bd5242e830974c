// `stdgate pin`: pins what MCP servers offer in a lock file, and shows what has changed since.
#include <algorithm>
#include <array>
#include <map>

#include "gateway/config/config_files.h"
#include "gateway/mcp/tool_lock.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/schema/canonical_json.h"
#include "gateway/tools/definition_diff.h"
#include "gateway/tools/listing.h"
#include "gateway/tools/local_files.h"
#include "gateway/tools/peer.h"
#include "transports/auth/digest.h"

namespace stdgate::tools {

namespace {

using mcp::McpListing;
using mcp::McpListKind;
using mcp::ToolLock;
using Locks = std::map<std::string, ToolLock>;

constexpr std::array kPinOptions{
    ToolOption{"--diff", "", "show what differs from the lock file; write nothing"},
    ToolOption{"--config", "FILE", "the file that has the servers (gateway.yaml)"},
    ToolOption{"--lock", "FILE", "the lock file (the configured one, or stdgate.lock)"},
    ToolOption{"--timeout", "TIME", "for each call (60s)"},
};
constexpr std::string_view kUsualLock = "stdgate.lock";
constexpr Duration kPinTimeout = std::chrono::seconds(60);
constexpr size_t kMaxLockFile = size_t{8} << 20;
constexpr ptrdiff_t kScreenLines = 20;  // lines of output that are seen at once

// --- What servers offer ----------------------------------------------------------------------

// Appends a page of a list. The error says what is wrong with it.
tl::expected<void, std::string> add_page(std::string_view result, const McpListing& list,
                                         ToolLock& lock) {
  const auto elements = rpc::find_clear_member(result, list.member);
  if (elements && *elements == "null") return {};  // so some servers write an empty list
  if (!elements || !elements->starts_with('[')) {
    return tl::unexpected(std::string(list.method) +
                          " has no list that all readers see alike: " + std::string(list.member));
  }
  rpc::JsonCursor cursor(*elements);
  if (!cursor.take('[') || cursor.take(']')) return {};
  std::string scratch;
  do {
    const std::string_view element = cursor.take_value();
    const auto name = rpc::find_clear_member(element, list.name);
    auto definition = schema::canonical_json(element);
    if (!name || !name->starts_with('"') || !definition) {
      return tl::unexpected(std::string(list.method) +
                            " has an element that readers could take for different ones");
    }
    const std::string key(rpc::decode_string(rpc::string_content(*name), scratch));
    if (key.empty()) {
      return tl::unexpected(std::string(list.method) + " has an element without a name");
    }
    if (!lock.of(list.kind).emplace(key, *std::move(definition)).second) {
      return tl::unexpected(std::string(list.method) +
                            " has two elements of the same name: " + key);
    }
  } while (cursor.take(','));
  return {};
}

tl::expected<void, Trouble> read_pins(Peer& peer, const std::string& server, const McpListing& list,
                                      ToolLock& lock) {
  std::string cursor;
  for (size_t page = 0; page < kMaxPages; ++page) {
    const auto answer = peer.call(server, std::string(list.method),
                                  cursor.empty() ? "{}" : R"({"cursor":)" + cursor + "}");
    if (!answer) return tl::unexpected(answer.error());
    const auto response = read_response(*answer);
    if (!response) return tl::unexpected(response.error());
    if (response->is_error) {
      if (is_unknown_method(rpc::member_or_empty(response->payload, "code"))) return {};
      return tl::unexpected(Trouble{kFailed, server + ": " + error_text(response->payload)});
    }
    if (const auto added = add_page(response->payload, list, lock); !added) {
      return tl::unexpected(Trouble{kFailed, server + ": " + added.error()});
    }
    cursor = rpc::member_or_empty(response->payload, "nextCursor");
    if (!cursor.starts_with('"')) return {};
  }
  return tl::unexpected(Trouble{kFailed, server + ": " + std::string(list.method) +
                                             " has no end: more than " + std::to_string(kMaxPages) +
                                             " pages"});
}

tl::expected<ToolLock, Trouble> offer_of(const config::Config& config,
                                         const config::BackendConfig& backend,
                                         const ToolSurroundings& surroundings, Duration timeout) {
  auto peer = open_backend_peer(config, backend, surroundings, timeout);
  if (!peer) {
    Trouble trouble = std::move(peer.error());
    trouble.message = backend.name + ": " + trouble.message;
    return tl::unexpected(std::move(trouble));
  }
  ToolLock lock;
  for (const McpListing& list : mcp::kPinnedLists) {
    if (auto read = read_pins(**peer, backend.name, list, lock); !read) {
      return tl::unexpected(std::move(read.error()));
    }
  }
  return lock;
}

// --- The lock file ---------------------------------------------------------------------------

std::string digest_of(std::string_view text) {
  return auth::key_hash(auth::Sha256().of(text)).substr(std::string_view("sha256:").size());
}

std::string lock_text(const Locks& locks) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  json.number("version", 1);
  json.begin_object("servers");
  for (const auto& [server, lock] : locks) {
    json.begin_object(server);
    for (const McpListing& list : mcp::kPinnedLists) {
      if (lock.of(list.kind).empty()) continue;
      json.begin_object(list.member);
      for (const auto& [name, definition] : lock.of(list.kind)) {
        json.begin_object(name);
        json.text("sha256", digest_of(definition));
        json.raw("definition", definition);
        json.end_object();
      }
      json.end_object();
    }
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return json.take() + "\n";
}

// The locks in the file; none if it does not exist.
tl::expected<Locks, std::string> read_lock(const std::string& file) {
  const auto text = config::read_text_file(file, kMaxLockFile);
  if (!text && text.error().ends_with(std::generic_category().message(ENOENT))) return Locks();
  if (!text) return tl::unexpected(text.error());
  auto locks = ToolLock::read_all(*text);
  if (!locks) return tl::unexpected(file + ": " + locks.error());
  return locks;
}

// --- Differences -----------------------------------------------------------------------------

struct Differences {
  size_t fresh = 0;
  size_t changed = 0;
  size_t gone = 0;
  std::string text;
  std::vector<std::string> marks;  // changes to look at twice, with their element
  [[nodiscard]] bool any() const { return fresh + changed + gone > 0; }
};

void note_element(std::string_view word, std::string_view name, std::string_view before,
                  std::string_view after, Differences& all) {
  std::string_view what = "changed";
  if (before.empty()) {
    what = "new";
    ++all.fresh;
  } else if (after.empty()) {
    what = "gone";
    ++all.gone;
  } else {
    ++all.changed;
  }
  all.text.append("  ").append(what).append(" ").append(word).append(" ");
  all.text.append(revealed(name)) += '\n';
  if (after.empty()) return;
  for (const std::string& line : definition_diff(before, after)) {
    all.text.append("    ").append(line) += '\n';
  }
  for (const std::string& mark : marks_of(after)) {
    all.text.append("    ! ").append(mark) += '\n';
    all.marks.push_back(std::string(word) + " " + revealed(name) + " " + mark);
  }
}

Differences differences_of(const ToolLock& pinned, const ToolLock& offered) {
  Differences all;
  for (const McpListing& list : mcp::kPinnedLists) {
    const std::string_view word = list.singular;
    const ToolLock::Definitions& before = pinned.of(list.kind);
    const ToolLock::Definitions& after = offered.of(list.kind);
    for (const auto& [name, definition] : after) {
      const auto former = before.find(name);
      if (former == before.end()) {
        note_element(word, name, "", definition, all);
      } else if (former->second != definition) {
        note_element(word, name, former->second, definition, all);
      }
    }
    for (const auto& [name, definition] : before) {
      if (!after.contains(name)) note_element(word, name, definition, "", all);
    }
  }
  return all;
}

std::string summary_of(const std::string& server, const ToolLock& offered,
                       const Differences& differences) {
  std::string text = server + ":";
  for (const McpListing& list : mcp::kPinnedLists) {
    const size_t count = offered.of(list.kind).size();
    if (count == 0 && list.kind != McpListKind::tools) continue;
    text.append(" ").append(std::to_string(count)).append(" ");
    text.append(list.singular).append(count == 1 ? "," : "s,");
  }
  return text + " " + std::to_string(differences.fresh) + " new, " +
         std::to_string(differences.changed) + " changed, " + std::to_string(differences.gone) +
         " gone\n";
}

// --- The word --------------------------------------------------------------------------------

// The servers that are named, or every one.
tl::expected<std::vector<const config::BackendConfig*>, std::string> chosen_servers(
    const config::Config& config, const std::vector<std::string>& names) {
  std::vector<const config::BackendConfig*> servers;
  for (const std::string& name : names) {
    const auto found = find_backend(config, name, "pin pins");
    if (!found) return tl::unexpected(found.error());
    if ((*found)->protocol != config::Protocol::mcp) {
      return tl::unexpected(name + " is no MCP server, and has nothing to pin");
    }
    servers.push_back(*found);
  }
  if (!names.empty()) return servers;
  for (const config::BackendConfig& backend : config.backends) {
    if (backend.protocol == config::Protocol::mcp) servers.push_back(&backend);
  }
  if (servers.empty()) return tl::unexpected(std::string("there is no MCP server to pin"));
  return servers;
}

// The findings of one run.
struct Found {
  ToolOutput output;
  std::vector<std::string> told;   // servers that have said what they offer
  std::vector<std::string> marks;  // changes to look at twice, with the server
  bool differs = false;
};

// Puts what these servers offer into `locks`. If a server does not tell its elements, they stay as
// they were pinned.
Found compare(const config::Config& config,
              const std::vector<const config::BackendConfig*>& servers,
              const ToolSurroundings& surroundings, Duration timeout, Locks& locks) {
  Found found;
  for (const config::BackendConfig* const server : servers) {
    auto offered = offer_of(config, *server, surroundings, timeout);
    if (!offered) {
      found.output.fail(offered.error());
      continue;
    }
    const Differences differences = differences_of(locks[server->name], *offered);
    found.differs = found.differs || differences.any();
    found.output.out += summary_of(server->name, *offered, differences) + differences.text;
    for (const std::string& mark : differences.marks) {
      found.marks.push_back(server->name + ": " + mark);
    }
    found.told.push_back(server->name);
    locks[server->name] = *std::move(offered);
  }
  return found;
}

// Repeats what to look at twice, where it stands in between much else.
void add_marks(Found& found) {
  std::string& text = found.output.out;
  if (found.marks.empty() || std::ranges::count(text, '\n') <= kScreenLines) return;
  text += "\nto look at twice:\n";
  for (const std::string& mark : found.marks) text.append("  ! ").append(mark) += '\n';
}

ToolOutput pin(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  const auto timeout = arguments.timeout(kPinTimeout);
  if (!timeout) return failure(timeout.error());
  const bool is_one = arguments.words.size() == 1;
  const auto config = config_of(arguments, surroundings, is_one ? arguments.words.front() : "");
  if (!config) return {kBadUsage, {}, config.error()};
  const auto servers = chosen_servers(*config, arguments.words);
  if (!servers) return tool_error(kBadUsage, servers.error());
  std::string file = arguments.value("--lock");
  if (file.empty()) file = servers->front()->lock;
  if (file.empty()) file = kUsualLock;
  auto locks = read_lock(file);
  if (!locks) return tool_error(kFailed, locks.error());
  Found found = compare(*config, *servers, surroundings, *timeout, *locks);
  add_marks(found);
  ToolOutput output = std::move(found.output);
  if (arguments.has("--diff")) {
    if (found.differs) output.exit_code = std::max(output.exit_code, kFailed);
    return output;
  }
  if (found.told.empty()) return output;
  if (const auto written = replace_file(file, lock_text(*locks)); !written) {
    output.exit_code = kFailed;
    output.err += "stdgate: " + written.error() + "\n";
    return output;
  }
  output.err += "stdgate: pinned in " + file + ": " + joined(found.told, ", ") +
                "; a gateway that runs takes it with a reload\n";
  return output;
}

}  // namespace

extern const Tool kPinTool{
    "pin",
    "[SERVER...]",
    "pin tools, and show what has changed",
    "  stdgate pin [options] [SERVER...]\n"
    "  stdgate pin --diff [options] [SERVER...]\n",
    "Starts the MCP servers of the configuration, all or those that are named, and\n"
    "writes the definitions of their tools, prompts and resource templates into the\n"
    "lock file. A backend with `pins: enforce` shows and serves nothing else. Shows\n"
    "what is new, has changed or has gone, word by word, and what to look at twice:\n"
    "characters that cannot be seen or turn text around, markup, and text that\n"
    "addresses the model. What to look at twice is repeated at the end of a long\n"
    "output. --diff shows alone, and writes nothing.\n"
    "\n"
    "Exit code: 0, 1 a difference (--diff) or an error, 2 usage, 3 no answer.\n",
    kPinOptions,
    false,
    pin};

}  // namespace stdgate::tools
