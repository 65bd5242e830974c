#include "gateway/tools/client_settings.h"

#include <simdjson.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "gateway/base/utf8.h"
#include "gateway/rpc/json_string.h"
#include "gateway/tools/json_places.h"
#include "gateway/tools/toml_json.h"

namespace stdgate::tools {

namespace {

constexpr std::string_view kOtherForm = "it is written in a way that cannot be changed";

// Where the entry of one server stands, and the parts of it that a command has.
struct PlacedServer {
  TextSpan entry;                 // its value, or the lines of its tables
  TextSpan command_pair;          // from the key
  TextSpan command;               // the value
  std::optional<TextSpan> args;   // the value
  std::optional<TextSpan> env;    // the value
  std::vector<TextSpan> members;  // of an env that is a table of its own: whole pairs
  bool has_lines = false;         // each member stands on a line of its own, in TOML
};
using PlacedServers = std::map<std::string, PlacedServer>;

const JsonPlace* servers_place(const JsonPlace& root) {
  for (const std::string_view key : {"mcpServers", "servers", "mcp", "context_servers"}) {
    const JsonPlace* found = root.find(key);
    if (found != nullptr && key == "mcp") found = found->find("servers");
    if (found != nullptr && found->is_object) return found;
  }
  return nullptr;
}

bool is_twice(const std::vector<std::string>& keys, std::string_view key) {
  return std::ranges::count(keys, key) > 1;
}

tl::expected<PlacedServers, std::string> json_servers(std::string_view text) {
  const auto root = json_places(text);
  if (!root) return tl::unexpected(root.error());
  const JsonPlace* const servers = servers_place(*root);
  if (servers == nullptr) return tl::unexpected(std::string(kOtherForm));
  PlacedServers placed;
  for (size_t i = 0; i < servers->keys.size(); ++i) {
    const std::string& name = servers->keys[i];
    if (is_twice(servers->keys, name)) return tl::unexpected(name + " occurs twice");
    PlacedServer server;
    server.entry = servers->values[i].value;
    // Zed had path, args and env within `command`.
    const JsonPlace* parts = &servers->values[i];
    std::string_view program = "command";
    if (const JsonPlace* const inner = parts->find(program); inner != nullptr && inner->is_object) {
      parts = inner;
      program = "path";
    }
    for (size_t k = 0; k < parts->keys.size(); ++k) {
      const TextSpan& value = parts->values[k].value;
      if (parts->keys[k] == program) {
        server.command_pair = {parts->key_spans[k].begin, value.end};
        server.command = value;
      } else if (parts->keys[k] == "args") {
        server.args = value;
      } else if (parts->keys[k] == "env") {
        server.env = value;
      } else {
        continue;
      }
      if (is_twice(parts->keys, parts->keys[k])) {
        return tl::unexpected(parts->keys[k] + " of " + name + " occurs twice");
      }
    }
    placed.emplace(name, std::move(server));
  }
  return placed;
}

// The pairs of a table and of those within it.
void collect_pairs(const TomlNode& node, std::vector<TextSpan>& pairs) {
  for (const TomlNode& item : node.items) {
    if (!item.pair.is_empty()) {
      pairs.push_back(item.pair);
    } else {
      collect_pairs(item, pairs);
    }
  }
}
void collect_headers(const TomlNode& node, std::vector<TextSpan>& headers) {
  headers.insert(headers.end(), node.headers.begin(), node.headers.end());
  for (const TomlNode& item : node.items) collect_headers(item, headers);
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

// From the first to the last pair of a table of dotted keys; empty: other things stand between.
TextSpan pairs_of_table(const TomlNode& root, const TomlNode& table) {
  std::vector<TextSpan> own;
  collect_pairs(table, own);
  if (own.empty()) return {};
  TextSpan pairs = own.front();
  for (const TextSpan& pair : own) {
    pairs = {std::min(pairs.begin, pair.begin), std::max(pairs.end, pair.end)};
  }
  std::vector<TextSpan> all;
  collect_headers(root, all);
  collect_pairs(root, all);
  const auto within = std::ranges::count_if(all, [&pairs](const TextSpan& part) {
    return part.begin >= pairs.begin && part.begin < pairs.end;
  });
  return within == static_cast<long>(own.size()) ? pairs : TextSpan{};
}

// From the first header of the table to the paragraph of the last thing that is in it; empty: other
// tables stand between.
TextSpan lines_of_table(std::string_view text, const TomlNode& root, const TomlNode& table) {
  std::vector<TextSpan> own;
  collect_headers(table, own);
  if (own.empty()) return pairs_of_table(root, table);
  TextSpan lines = own.front();
  for (const TextSpan& header : own) lines.begin = std::min(lines.begin, header.begin);
  collect_pairs(table, own);
  for (const TextSpan& part : own) {
    if (part.begin < lines.begin) return {};
    lines.end = std::max(lines.end, part.end);
  }
  lines.end = end_of_paragraph(text, lines.end);
  std::vector<TextSpan> all;
  collect_headers(root, all);
  const auto within = std::ranges::count_if(all, [&lines](const TextSpan& header) {
    return header.begin >= lines.begin && header.begin < lines.end;
  });
  std::vector<TextSpan> headers;
  collect_headers(table, headers);
  return within == static_cast<long>(headers.size()) ? lines : TextSpan{};
}

tl::expected<PlacedServers, std::string> toml_servers(std::string_view text) {
  const auto root = read_toml(text);
  if (!root) return tl::unexpected(root.error());
  const TomlNode* const servers = root->find("mcp_servers");
  if (servers == nullptr) return tl::unexpected(std::string(kOtherForm));
  PlacedServers placed;
  for (size_t i = 0; i < servers->keys.size(); ++i) {
    const TomlNode& table = servers->items[i];
    PlacedServer server;
    server.has_lines = table.value.is_empty();
    server.entry = server.has_lines ? lines_of_table(text, *root, table) : table.value;
    if (const TomlNode* const command = table.find("command")) {
      server.command_pair = command->pair;
      server.command = command->value;
    }
    if (const TomlNode* const args = table.find("args")) server.args = args->value;
    if (const TomlNode* const env = table.find("env")) {
      if (!env->value.is_empty()) server.env = env->value;
      if (env->value.is_empty()) collect_pairs(*env, server.members);
    }
    if (!server.entry.is_empty()) placed.emplace(servers->keys[i], std::move(server));
  }
  return placed;
}

tl::expected<PlacedServers, std::string> places_in(std::string_view text) {
  return is_toml(text) ? toml_servers(text) : json_servers(text);
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

// What separates a member from the one before it: a line with the same indent, if that stands at
// the beginning of its line.
std::string separator(std::string_view text, const PlacedServer& server, bool is_of_toml) {
  const size_t feed = text.substr(0, server.command_pair.begin).rfind('\n');
  const size_t begin = feed == std::string_view::npos ? 0 : feed + 1;
  const std::string_view indent = text.substr(begin, server.command_pair.begin - begin);
  const bool is_first = indent.find_first_not_of(" \t") == std::string_view::npos;
  if (!is_first) return is_of_toml && server.has_lines ? "\n" : ", ";
  const bool has_returns = feed != std::string_view::npos && feed > 0 && text[feed - 1] == '\r';
  return std::string(server.has_lines ? "" : ",") + (has_returns ? "\r\n" : "\n") +
         std::string(indent);
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
std::string key_prefix(std::string_view text, const PlacedServer& server) {
  const std::string_view key =
      text.substr(server.command_pair.begin, server.command.begin - server.command_pair.begin);
  std::string_view prefix = key.substr(0, key.rfind("command"));
  if (prefix.ends_with('"') || prefix.ends_with('\'')) prefix.remove_suffix(1);
  return std::string(prefix);
}

void change_command(std::string_view text, const PlacedServer& server,
                    const std::vector<std::string>& command, std::vector<TextChange>& changes) {
  const bool is_of_toml = is_toml(text);
  changes.push_back({server.command, json_text(command.front())});
  if (server.args) {
    changes.push_back({*server.args, list_of(command)});
  } else {
    const size_t behind = server.command_pair.end;
    const std::string key =
        is_of_toml ? key_prefix(text, server) + "args = " : std::string("\"args\": ");
    changes.push_back(
        {{behind, behind}, separator(text, server, is_of_toml) + key + list_of(command)});
  }
  if (server.env) changes.push_back({*server.env, "{}"});
  for (const TextSpan& pair : server.members) changes.push_back({with_line(text, pair), ""});
}

bool is_command_key(std::string_view key) {
  return key == "command" || key == "args" || key == "env";
}

// The text of settings, read.
class Settings {
 public:
  static tl::expected<Settings, std::string> read(std::string_view text) {
    auto json = settings_as_json(text);
    if (!json) return tl::unexpected(json.error());
    Settings settings;
    settings.parser_ = std::make_unique<simdjson::dom::parser>();
    if (settings.parser_->parse(simdjson::padded_string(*json)).get(settings.root_) !=
        simdjson::SUCCESS) {
      return tl::unexpected<std::string>("it is no JSON");
    }
    const auto& root = settings.root_;
    if (root["mcpServers"].get(settings.servers_) != simdjson::SUCCESS &&
        root["servers"].get(settings.servers_) != simdjson::SUCCESS &&
        root["mcp"]["servers"].get(settings.servers_) != simdjson::SUCCESS &&
        root["context_servers"].get(settings.servers_) != simdjson::SUCCESS &&
        root["mcp_servers"].get(settings.servers_) != simdjson::SUCCESS) {
      return tl::unexpected<std::string>(
          "it has none of mcpServers, servers, context_servers and mcp_servers");
    }
    return settings;
  }
  [[nodiscard]] simdjson::dom::object root() const { return root_.get_object().value(); }
  [[nodiscard]] simdjson::dom::object servers() const { return servers_; }

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;  // has what the others show
  simdjson::dom::element root_;
  simdjson::dom::object servers_;
};

bool is_servers_key(std::string_view key) {
  return key == "mcpServers" || key == "servers" || key == "context_servers" ||
         key == "mcp_servers";
}

// A text that says everything but the commands of these servers, or, without their entries, nothing
// of them but their names.
tl::expected<std::string, std::string> rest_of(std::string_view text,
                                               const std::set<std::string>& servers,
                                               bool without_entries) {
  const auto settings = Settings::read(text);
  if (!settings) return tl::unexpected(settings.error());
  std::string rest;
  for (const auto [key, value] : settings->root()) {
    simdjson::dom::object inner;
    rest.append(key).append("=");
    if (key == "mcp" && value.get(inner) == simdjson::SUCCESS) {
      for (const auto [name, member] : inner) {
        if (name != "servers") rest.append(name).append("=").append(simdjson::minify(member));
      }
    } else if (!is_servers_key(key)) {
      rest += simdjson::minify(value);
    }
    rest += '\n';
  }
  for (const auto [name, server] : settings->servers()) {
    const bool is_changed = servers.contains(std::string(name));
    rest.append(name).append(":");
    simdjson::dom::object members;
    if (!is_changed || server.get(members) != simdjson::SUCCESS) {
      rest += simdjson::minify(server);
    } else if (!without_entries) {
      for (const auto [key, value] : members) {
        if (!is_command_key(key)) rest.append(key).append("=").append(simdjson::minify(value));
      }
    }
    rest += '\n';
  }
  return rest;
}

// The command of a server as its client reads it.
std::vector<std::string> command_in(simdjson::dom::element server) {
  std::vector<std::string> command;
  std::string_view word;
  if (server["command"]["path"].get(word) == simdjson::SUCCESS) {
    server = server["command"].value();
  } else if (server["command"].get(word) != simdjson::SUCCESS) {
    return command;
  }
  command.emplace_back(word);
  simdjson::dom::array args;
  if (server["args"].get(args) != simdjson::SUCCESS) return command;
  for (const simdjson::dom::element argument : args) {
    if (argument.get(word) == simdjson::SUCCESS) command.emplace_back(word);
  }
  return command;
}

bool has_commands(std::string_view text, const ServerCommands& commands) {
  const auto settings = Settings::read(text);
  if (!settings) return false;
  size_t found = 0;
  for (const auto [name, server] : settings->servers()) {
    const auto wanted = commands.find(std::string(name));
    if (wanted == commands.end()) continue;
    if (command_in(server) != wanted->second) return false;
    ++found;
  }
  return found == commands.size();
}

}  // namespace

tl::expected<std::string, std::string> servers_as_json(std::string_view text) {
  const auto settings = Settings::read(text);
  if (!settings) return tl::unexpected(settings.error());
  return simdjson::minify(settings->servers());
}

bool is_connect(std::string_view program, std::string_view first_argument) {
  return program.substr(program.rfind('/') + 1) == "stdgate" && first_argument == "connect";
}

tl::expected<std::set<std::string>, std::string> connected_servers(std::string_view text) {
  const auto settings = Settings::read(text);
  if (!settings) return tl::unexpected(settings.error());
  std::set<std::string> names;
  for (const auto [name, server] : settings->servers()) {
    const std::vector<std::string> command = command_in(server);
    if (command.size() > 1 && is_connect(command[0], command[1])) names.emplace(name);
  }
  return names;
}

tl::expected<std::string, std::string> with_commands(std::string_view text,
                                                     const ServerCommands& commands) {
  const auto placed = places_in(text);
  if (!placed) return tl::unexpected(placed.error());
  std::vector<TextChange> changes;
  std::set<std::string> names;
  for (const auto& [name, command] : commands) {
    const auto found = placed->find(name);
    if (found == placed->end() || found->second.command.is_empty()) {
      return tl::unexpected(name + ": " + std::string(kOtherForm));
    }
    change_command(text, found->second, command, changes);
    names.insert(name);
  }
  std::string changed = changed_text(text, std::move(changes));
  const auto before = rest_of(text, names, false);
  const auto after = rest_of(changed, names, false);
  if (!before || !after || *before != *after || !has_commands(changed, commands)) {
    return tl::unexpected(std::string(kOtherForm));
  }
  return changed;
}

tl::expected<std::string, std::string> with_entries_of(std::string_view text,
                                                       std::string_view original,
                                                       const std::set<std::string>& servers) {
  const auto placed = places_in(text);
  if (!placed) return tl::unexpected(placed.error());
  const auto former = places_in(original);
  if (!former) return tl::unexpected(former.error());
  std::vector<TextChange> changes;
  for (const std::string& name : servers) {
    const auto now = placed->find(name);
    const auto then = former->find(name);
    if (now == placed->end() || then == former->end()) continue;
    changes.push_back({now->second.entry, std::string(then->second.entry.of(original))});
  }
  std::string changed = changed_text(text, std::move(changes));
  const auto before = rest_of(text, servers, true);
  const auto after = rest_of(changed, servers, true);
  if (!before || !after || *before != *after) return tl::unexpected(std::string(kOtherForm));
  return changed;
}

// JSON begins with a brace, perhaps after comments.
bool is_toml(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] != '{' && text[begin] != '/' &&
         !text.substr(begin).starts_with("[]");
}

tl::expected<std::string, std::string> settings_as_json(std::string_view text) {
  const bool is_of_toml = is_toml(text);
  // Editors on Windows write it.
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const auto read = is_of_toml ? toml_as_json(text) : plain_json(text);
  return read.map_error([&](const std::string& error) {
    return std::string("it is no ") + (is_of_toml ? "TOML: " : "JSON: ") + error;
  });
}

}  // namespace stdgate::tools
