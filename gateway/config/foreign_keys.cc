#include "gateway/config/foreign_keys.h"

#include <algorithm>
#include <array>

#include "gateway/config/secret.h"

namespace stdgate::config {
namespace {

constexpr size_t kMaxWords = 40;  // of a line to write
constexpr size_t kMaxWord = 200;

struct Rename {
  std::string_view foreign;
  std::string_view ours;  // the hint is for a section that knows this one
};
constexpr std::array kRenames{
    Rename{"cert", "certificate"},
    Rename{"cert_file", "certificate"},
    Rename{"certfile", "certificate"},
    Rename{"certificate_file", "certificate"},
    Rename{"ssl_certificate", "certificate"},
    Rename{"key_file", "key"},
    Rename{"keyfile", "key"},
    Rename{"private_key", "key"},
    Rename{"ssl_certificate_key", "key"},
    Rename{"ca", "client_ca"},
    Rename{"ca_file", "client_ca"},
    Rename{"client_ca_file", "client_ca"},
    Rename{"workdir", "cwd"},
    Rename{"working_dir", "cwd"},
    Rename{"workingDirectory", "cwd"},
    Rename{"working_directory", "cwd"},
    Rename{"envFile", "env_file"},
    Rename{"bind", "listen"},
    Rename{"address", "listen"},
};

struct Needless {
  std::string_view foreign;
  std::string_view why;
};
// Of a backend.
constexpr std::array kNeedless{
    Needless{"type", "stdgate speaks with every command over its stdin and stdout: leave it out"},
    Needless{"transport",
             "stdgate speaks with every command over its stdin and stdout: leave it out"},
    Needless{"disabled", "leave the whole backend out instead"},
    Needless{"alwaysAllow", "write rules, which say who may use what"},
    Needless{"autoApprove", "write rules, which say who may use what"},
};

std::string quoted_text(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

bool knows(const std::vector<std::string_view>& known, std::string_view key) {
  return std::ranges::find(known, key) != known.end();
}

std::vector<std::string> words_in(const Value* value) {
  if (value == nullptr) return {};
  std::vector<std::string> words = value->words_spelled();
  if (words.size() > kMaxWords) words.resize(kMaxWords);
  return words;
}

std::string line_of(std::string_view key, const std::vector<std::string>& words) {
  std::string line(key);
  line += ": ";
  return line + (words.size() == 1 ? quoted_text(words.front()) : list_text(words));
}

// The words of `command` and `args`, as clients of MCP have them apart.
std::vector<std::string> command_words(const Value* command, const Value* args) {
  std::vector<std::string> words = words_in(command);
  for (std::string& word : words_in(args)) words.push_back(std::move(word));
  return hide_secret_arguments(words);
}

// The first server of an MCP client, as a backend.
std::string backends_of(const Value& servers) {
  std::string text = "backends: { NAME: { command: [...] } }";
  const auto entries = servers.is_map() ? servers.entries() : std::nullopt;
  if (entries && !entries->empty() && entries->front().is_map()) {
    const Section first(entries->front());
    std::vector<std::string> words = command_words(first.peek("command"), first.peek("args"));
    const std::vector<std::string> urls = words_in(first.peek("url"));
    if (words.empty() && !urls.empty()) words = connect_command(urls.front());
    if (!words.empty()) {
      text = "backends: { \"" + entries->front().name() + "\": { command: " + list_text(words) +
             " } }";
    }
  }
  return "this key is from the settings of an MCP client. Write: " + text +
         "; or import the client's file with stdgate add --import FILE";
}

std::string listen_at(const Section& section) {
  const Value* const host = section.peek("host");
  const Value* const port = section.peek("port");
  const bool has_host = host != nullptr && host->is_scalar();
  const bool has_port = port != nullptr && port->is_scalar();
  std::string address = has_host ? host->spelled() : "127.0.0.1";
  if (address.find(':') != std::string::npos) address = "[" + address + "]";
  return "listen: [\"" + address + ":" + (has_port ? port->spelled() : "8080") + "\"]";
}

std::optional<std::string> root_hint(const Value& entry, const Section& section) {
  for (const std::string_view servers :
       {"mcpServers", "mcp_servers", "servers", "context_servers"}) {
    if (entry.name() == servers) return backends_of(entry);
  }
  if (entry.name() == "host" || entry.name() == "port") return "write " + listen_at(section);
  return std::nullopt;
}

std::string connect_line(const Value& url) {
  const std::vector<std::string> words = words_in(&url);
  return line_of("command", connect_command(words.empty() ? "URL" : words.front()));
}

std::optional<std::string> backend_hint(const Value& entry, const Section& section) {
  if (entry.name() == "args" || entry.name() == "arguments") {
    const auto line = command_with_args(section);
    return "the arguments belong to the command. Write " +
           line.value_or("command: [\"PROGRAM\", \"ARGUMENT\"]");
  }
  if (entry.name() == "url" || entry.name() == "httpUrl" || entry.name() == "serverUrl") {
    return "a backend is a command, and this one reaches the URL. Write " + connect_line(entry);
  }
  if (entry.name() == "environment") return "write env: { NAME: \"VALUE\" }";
  for (const Needless& needless : kNeedless) {
    if (entry.name() == needless.foreign) return std::string(needless.why);
  }
  return std::nullopt;
}

// The hint for a key of backends that stands at a virtual server.
std::optional<std::string> server_hint(const Value& entry) {
  constexpr std::array<std::string_view, 4> kOfMembers = {"check", "pins", "lock", "schema"};
  if (std::ranges::find(kOfMembers, entry.name()) == kOfMembers.end()) return std::nullopt;
  return "it is a key of backends. Write it at the members in backends; it applies here too";
}

}  // namespace

std::string list_text(const std::vector<std::string>& words) {
  std::string list = "[";
  for (const std::string& word : words) {
    list.append(list.size() > 1 ? ", " : "").append(quoted_text(word));
  }
  return list + "]";
}

std::vector<std::string> connect_command(const std::string& url) {
  return hide_secret_arguments({"stdgate", "connect", url});
}

std::optional<std::string> command_with_args(const Section& section) {
  const Value* const command = section.peek("command");
  const Value* const args = section.peek("args");
  if (command == nullptr || args == nullptr) return std::nullopt;
  const std::vector<std::string> words = command_words(command, args);
  if (words.empty()) return std::nullopt;
  return "command: " + list_text(words);
}

std::optional<std::string> foreign_key_hint(const Value& entry, const Section& section,
                                            const std::vector<std::string_view>& known) {
  std::optional<std::string> hint;
  if (knows(known, "backends")) hint = root_hint(entry, section);
  if (knows(known, "command")) hint = backend_hint(entry, section);
  if (knows(known, "members") && knows(known, "expose")) hint = server_hint(entry);
  if (hint) return hint;
  for (const Rename& rename : kRenames) {
    if (entry.name() != rename.foreign || !knows(known, rename.ours)) continue;
    const std::vector<std::string> words = words_in(&entry);
    // A key itself, instead of the file that has it, is not repeated.
    const bool is_short = std::ranges::all_of(words, [](const std::string& word) {
      return word.size() <= kMaxWord && word.find('\n') == std::string::npos;
    });
    std::string line(rename.ours);
    return "write " + (words.empty() || !is_short ? line + ":" : line_of(rename.ours, words));
  }
  return std::nullopt;
}

}  // namespace stdgate::config
