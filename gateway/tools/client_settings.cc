#include "gateway/tools/client_settings.h"

#include <algorithm>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::tools {

namespace {

constexpr std::string_view kOtherForm = "it is written in a way that cannot be changed";
constexpr std::string_view kCommand = "command";
constexpr std::string_view kArgs = "args";
constexpr std::string_view kEnv = "env";

struct TextChange {
  TextSpan span;
  std::string text;  // instead of it
};

// The changes must not overlap; their order is free.
std::string changed_text(std::string_view text, std::vector<TextChange> changes) {
  std::ranges::sort(changes, {}, [](const TextChange& change) { return change.span.begin; });
  std::string out;
  size_t at = 0;
  for (const TextChange& change : changes) {
    out.append(text.substr(at, change.span.begin - at)).append(change.text);
    at = change.span.end;
  }
  return out.append(text.substr(at));
}

// The first byte that is neither a byte order mark nor space; npos: there is none.
size_t first_byte(std::string_view text) {
  const size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  return text.find_first_not_of(" \t\r\n", begin);
}

// An empty file has no settings, in either format.
bool is_blank(std::string_view text) { return first_byte(text) == std::string_view::npos; }

// JSON begins with a brace, perhaps after comments.
bool is_toml(std::string_view text) {
  const size_t begin = first_byte(text);
  return begin != std::string_view::npos && text[begin] != '{' && text[begin] != '/' &&
         !text.substr(begin).starts_with("[]");
}

// Null: the settings have no servers.
JsonNode* servers_in(JsonNode& settings) {
  for (const std::string_view key :
       {"mcpServers", "servers", "mcp", "context_servers", "mcp_servers"}) {
    JsonNode* found = settings.find(key);
    if (found != nullptr && key == "mcp") found = found->find("servers");
    if (found != nullptr && found->kind == JsonNode::Kind::object) return found;
  }
  return nullptr;
}

// The headers and pairs of a TOML table and of those within it.
void collect_parts(const JsonNode& table, std::vector<TextSpan>& parts) {
  parts.insert(parts.end(), table.headers.begin(), table.headers.end());
  for (const JsonNode& item : table.items) {
    if (!item.pair.is_empty()) {
      parts.push_back(item.pair);
    } else {
      collect_parts(item, parts);
    }
  }
}

// The end of the last line of a paragraph: before an empty line, or another table.
size_t end_of_paragraph(std::string_view text, size_t at) {
  for (;;) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t next =
        std::min(text.find_first_not_of(" \t\r", std::min(end + 1, text.size())), text.size());
    if (next == text.size() || text[next] == '\n' || text[next] == '[') {
      return end > at && text[end - 1] == '\r' ? end - 1 : end;
    }
    at = next;
  }
}

// From the first to the last part of a table, with the paragraph of the last one if it has headers;
// empty: other things stand between.
TextSpan lines_of_table(std::string_view text, const JsonNode& root, const JsonNode& table) {
  std::vector<TextSpan> own;
  collect_parts(table, own);
  if (own.empty()) return {};
  TextSpan lines = own.front();
  for (const TextSpan& part : own) {
    lines = {std::min(lines.begin, part.begin), std::max(lines.end, part.end)};
  }
  const auto is_header = [&text](const TextSpan& part) { return text[part.begin] == '['; };
  if (std::ranges::any_of(own, is_header)) {
    if (!is_header(lines)) return {};
    lines.end = end_of_paragraph(text, lines.end);
  }
  std::vector<TextSpan> all;
  collect_parts(root, all);
  const auto within = std::ranges::count_if(all, [&lines](const TextSpan& part) {
    return part.begin >= lines.begin && part.begin < lines.end;
  });
  return within == std::ssize(own) ? lines : TextSpan{};
}

// The entry of a server: its value, or the lines of its tables. Empty: it is in no single place.
TextSpan entry_of(std::string_view text, const JsonNode& root, const JsonNode& server) {
  return server.value.is_empty() ? lines_of_table(text, root, server) : server.value;
}

// Why the entry of a server cannot be changed; empty: it can.
std::string problem_of(const JsonNode& servers, const std::string& name) {
  if (std::ranges::count(servers.keys, name) > 1) return name + " occurs twice";
  const JsonNode* const server = servers.find(name);
  if (server == nullptr) return name + ": " + std::string(kOtherForm);
  const ServerParts parts = parts_of(*server);
  for (const std::string_view key : {parts.program_key, kArgs, kEnv}) {
    if (std::ranges::count(parts.owner.keys, key) < 2) continue;
    return std::string(key) + " of " + name + " occurs twice";
  }
  return {};
}

std::string json_text(std::string_view text) {
  std::string out;
  rpc::append_json_string(out, text);
  return out;
}

std::string list_of(const std::vector<std::string>& command) {
  std::string out = "[";
  for (size_t i = 1; i < command.size(); ++i) {
    out.append(i > 1 ? ", " : "").append(json_text(command[i]));
  }
  return out + "]";
}

// The text between a member and the one before it: a line with the same indent, if that stands at
// the beginning of its line.
// `has_lines`: each member stands on a line of its own, in TOML.
std::string separator(std::string_view text, const JsonNode& program, bool has_lines) {
  const size_t feed = text.substr(0, program.pair.begin).rfind('\n');
  const size_t begin = feed == std::string_view::npos ? 0 : feed + 1;
  const std::string_view indent = text.substr(begin, program.pair.begin - begin);
  const bool is_first = indent.find_first_not_of(" \t") == std::string_view::npos;
  if (!is_first) return has_lines ? "\n" : ", ";
  const bool has_returns = feed != std::string_view::npos && feed > 0 && text[feed - 1] == '\r';
  return std::string(has_lines ? "" : ",") + (has_returns ? "\r\n" : "\n") + std::string(indent);
}

// A pair with its line, if nothing else stands there.
TextSpan with_line(std::string_view text, TextSpan pair) {
  const size_t feed = text.substr(0, pair.begin).rfind('\n');
  const size_t begin = feed == std::string_view::npos ? 0 : feed + 1;
  const size_t end = std::min(text.find('\n', pair.end), text.size());
  const auto is_blank = [&text](size_t from, size_t to) {
    return text.substr(from, to - from).find_first_not_of(" \t\r") == std::string_view::npos;
  };
  if (!is_blank(begin, pair.begin) || !is_blank(pair.end, end)) return pair;
  return {begin, std::min(end + 1, text.size())};
}

// Of a dotted key, all before its last part: "mcp_servers.notes." of mcp_servers.notes.command.
std::string key_prefix(std::string_view text, const JsonNode& program) {
  const std::string_view key = TextSpan{program.pair.begin, program.value.begin}.of(text);
  std::string_view prefix = key.substr(0, key.rfind(kCommand));
  if (prefix.ends_with('"') || prefix.ends_with('\'')) prefix.remove_suffix(1);
  return std::string(prefix);
}

void change_command(std::string_view text, const JsonNode& server,
                    const std::vector<std::string>& command, std::vector<TextChange>& changes) {
  const ServerParts parts = parts_of(server);
  changes.push_back({parts.program->value, json_text(command.front())});
  if (parts.args != nullptr) {
    changes.push_back({parts.args->value, list_of(command)});
  } else {
    const size_t behind = parts.program->pair.end;
    const std::string key =
        is_toml(text) ? key_prefix(text, *parts.program) + "args = " : std::string("\"args\": ");
    changes.push_back(
        {{behind, behind},
         separator(text, *parts.program, server.value.is_empty()) + key + list_of(command)});
  }
  if (parts.env == nullptr) return;
  if (!parts.env->value.is_empty()) return changes.push_back({parts.env->value, "{}"});
  for (const JsonNode& variable : parts.env->items) {
    if (!variable.pair.is_empty()) changes.push_back({with_line(text, variable.pair), ""});
  }
}

// A text that says everything but the commands of these servers, or, without their entries, nothing
// of them but their names.
tl::expected<std::string, std::string> rest_of(std::string_view text,
                                               const std::set<std::string>& names,
                                               bool without_entries) {
  auto settings = read_settings(text);
  if (!settings) return tl::unexpected(settings.error());
  JsonNode* const servers = servers_in(*settings);
  if (servers == nullptr) return tl::unexpected(std::string(kOtherForm));
  for (size_t i = 0; i < servers->keys.size(); ++i) {
    if (!names.contains(servers->keys[i])) continue;
    const JsonNode former = std::exchange(servers->items[i], {});
    for (size_t k = 0; k < former.keys.size() && !without_entries; ++k) {
      const std::string& key = former.keys[k];
      if (key == kCommand || key == kArgs || key == kEnv) continue;
      servers->items[i].keys.push_back(key);
      servers->items[i].items.push_back(former.items[k]);
    }
  }
  return settings->json();
}

// The command of a server as its client reads it.
std::vector<std::string> command_in(const JsonNode& server) {
  const ServerParts parts = parts_of(server);
  const auto program = parts.program == nullptr ? std::nullopt : parts.program->text();
  if (!program) return {};
  std::vector<std::string> command{*program};
  for (const JsonNode& argument : parts.owner.list_at(kArgs)) {
    if (auto word = argument.text()) command.push_back(*std::move(word));
  }
  return command;
}

bool has_commands(std::string_view text, const ServerCommands& commands) {
  const auto servers = read_servers(text);
  return servers && std::ranges::all_of(commands, [&servers](const auto& wanted) {
           const JsonNode* const server = servers->find(wanted.first);
           return server != nullptr && command_in(*server) == wanted.second;
         });
}

bool is_same_but_for(std::string_view text, std::string_view changed,
                     const std::set<std::string>& names, bool without_entries) {
  const auto before = rest_of(text, names, without_entries);
  const auto after = rest_of(changed, names, without_entries);
  return before && after && *before == *after;
}

using Changes = tl::expected<std::vector<TextChange>, std::string>;

Changes command_changes(std::string_view text, const ServerCommands& commands) {
  auto root = read_settings(text);
  if (!root) return tl::unexpected(root.error());
  const JsonNode* const servers = servers_in(*root);
  if (servers == nullptr) return tl::unexpected(std::string(kOtherForm));
  std::vector<TextChange> changes;
  for (const auto& [name, command] : commands) {
    const std::string problem = problem_of(*servers, name);
    if (!problem.empty()) return tl::unexpected(problem);
    const JsonNode& server = *servers->find(name);
    if (parts_of(server).program == nullptr || entry_of(text, *root, server).is_empty()) {
      return tl::unexpected(name + ": " + std::string(kOtherForm));
    }
    change_command(text, server, command, changes);
  }
  return changes;
}

Changes entry_changes(std::string_view text, std::string_view original,
                      const std::set<std::string>& names) {
  auto root = read_settings(text);
  if (!root) return tl::unexpected(root.error());
  auto former_root = read_settings(original);
  if (!former_root) return tl::unexpected(former_root.error());
  const JsonNode* const servers = servers_in(*root);
  const JsonNode* const former_servers = servers_in(*former_root);
  if (servers == nullptr || former_servers == nullptr) {
    return tl::unexpected(std::string(kOtherForm));
  }
  std::vector<TextChange> changes;
  for (const std::string& name : names) {
    const JsonNode* const now = servers->find(name);
    const JsonNode* const then = former_servers->find(name);
    if (now == nullptr || then == nullptr) continue;
    const TextSpan entry = entry_of(text, *root, *now);
    const TextSpan former = entry_of(original, *former_root, *then);
    if (entry.is_empty() || former.is_empty()) continue;
    changes.push_back({entry, std::string(former.of(original))});
  }
  return changes;
}

}  // namespace

tl::expected<JsonNode, std::string> read_settings(std::string_view text) {
  if (is_blank(text)) return JsonNode();
  return is_toml(text) ? read_toml(text) : read_json(text, kMaxSettingsDepth);
}

tl::expected<JsonNode, std::string> read_servers(std::string_view text) {
  auto settings = read_settings(text);
  if (!settings) return settings;
  if (JsonNode* const servers = servers_in(*settings)) return std::move(*servers);
  if (settings->kind == JsonNode::Kind::object && settings->keys.empty()) {
    return tl::unexpected<std::string>("it has no servers");
  }
  return tl::unexpected<std::string>(
      "it has none of mcpServers, servers, context_servers and mcp_servers");
}

ServerParts parts_of(const JsonNode& server) {
  // Zed had path, args and env within `command`.
  const JsonNode* const inner = server.find(kCommand);
  const bool is_within = inner != nullptr && inner->kind == JsonNode::Kind::object;
  const JsonNode& owner = is_within ? *inner : server;
  const std::string_view program = is_within ? "path" : kCommand;
  return {owner, program, owner.find(program), owner.find(kArgs), owner.find(kEnv)};
}

bool is_connect(std::string_view program, std::string_view first_argument) {
  return program.substr(program.rfind('/') + 1) == "stdgate" && first_argument == "connect";
}

tl::expected<std::set<std::string>, std::string> connected_servers(std::string_view text) {
  const auto servers = read_servers(text);
  if (!servers) return tl::unexpected(servers.error());
  std::set<std::string> names;
  for (size_t i = 0; i < servers->keys.size(); ++i) {
    const std::vector<std::string> command = command_in(servers->items[i]);
    if (command.size() > 1 && is_connect(command[0], command[1])) names.insert(servers->keys[i]);
  }
  return names;
}

tl::expected<std::string, std::string> with_commands(std::string_view text,
                                                     const ServerCommands& commands) {
  auto changes = command_changes(text, commands);
  if (!changes) return tl::unexpected(changes.error());
  std::set<std::string> names;
  for (const auto& [name, command] : commands) names.insert(name);
  std::string changed = changed_text(text, *std::move(changes));
  const bool is_good = is_same_but_for(text, changed, names, false);
  if (!is_good || !has_commands(changed, commands)) return tl::unexpected(std::string(kOtherForm));
  return changed;
}

tl::expected<std::string, std::string> with_entries_of(std::string_view text,
                                                       std::string_view original,
                                                       const std::set<std::string>& names) {
  auto changes = entry_changes(text, original, names);
  if (!changes) return tl::unexpected(changes.error());
  std::string changed = changed_text(text, *std::move(changes));
  if (!is_same_but_for(text, changed, names, true)) return tl::unexpected(std::string(kOtherForm));
  return changed;
}

}  // namespace stdgate::tools
