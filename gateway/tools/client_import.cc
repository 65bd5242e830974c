#include "gateway/tools/client_import.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/config/backend_facts.h"
#include "gateway/config/foreign_keys.h"
#include "gateway/config/secret.h"
#include "gateway/tools/client_settings.h"
#include "gateway/tools/local_files.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

namespace {

bool is_variable_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// --- Clients ---------------------------------------------------------------------------------

constexpr std::array kClients{
    AdoptedClient{.word = "claude-desktop",
                  .title = "Claude Desktop",
                  .file_in_config = "Claude/claude_desktop_config.json",
                  .file_on_macos = "Library/Application Support/Claude/claude_desktop_config.json"},
    AdoptedClient{.word = "claude-code",
                  .title = "Claude Code",
                  .references = References::shell,
                  .folder_variable = "CLAUDE_CONFIG_DIR",
                  .file_in_folder = ".claude.json",
                  .file_in_home = ".claude.json"},
    AdoptedClient{.word = "cursor",
                  .title = "Cursor",
                  .references = References::editor,
                  .file_in_home = ".cursor/mcp.json"},
    AdoptedClient{.word = "vscode",
                  .title = "VS Code",
                  .references = References::editor,
                  .file_in_config = "Code/User/mcp.json",
                  .file_on_macos = "Library/Application Support/Code/User/mcp.json"},
    AdoptedClient{.word = "zed",
                  .title = "Zed",
                  .file_in_config = "zed/settings.json",
                  .file_on_macos = ".config/zed/settings.json"},
    AdoptedClient{.word = "gemini",
                  .title = "Gemini CLI",
                  .references = References::unbraced,
                  .file_in_home = ".gemini/settings.json"},
    AdoptedClient{.word = "codex",
                  .title = "Codex",
                  .folder_variable = "CODEX_HOME",
                  .file_in_folder = "config.toml",
                  .file_in_home = ".codex/config.toml"},
};

using Value = tl::expected<std::string, std::string>;

Value variable(const config::Environment& variables, std::string_view name) {
  if (auto value = variables(std::string(name))) return *std::move(value);
  return tl::unexpected("its variable " + std::string(name) +
                        " is not set here; set it and adopt again");
}

// The value of the text between the braces of ${…}.
Value shell_value(const config::Environment& variables, std::string_view inner) {
  const size_t otherwise = inner.find(":-");
  const std::string_view name = inner.substr(0, otherwise);
  const auto value = variables(std::string(name));
  if (otherwise == std::string_view::npos || value.has_value()) return variable(variables, name);
  return std::string(inner.substr(otherwise + 2));
}

Value editor_value(const config::Environment& variables, std::string_view inner) {
  constexpr std::string_view kEnv = "env:";
  if (inner.starts_with(kEnv)) return variable(variables, inner.substr(kEnv.size()));
  if (inner == "userHome") return variable(variables, "HOME");
  if (inner == "pathSeparator" || inner == "/") return "/";
  return tl::unexpected("only its client knows ${" + std::string(inner) + "}");
}

// `text` with what `replace` makes of the name in each ${NAME}, and if `unbraced` in each $NAME.
template <class Replace>
std::string with_references(std::string_view text, bool unbraced, Replace&& replace) {
  std::string out;
  while (!text.empty()) {
    size_t size = 1;
    if (text.starts_with("${") && text.find('}') != std::string_view::npos) {
      size = text.find('}') + 1;
      out += replace(text.substr(2, size - 3));
    } else if (unbraced && text.size() > 1 && text[0] == '$' && is_variable_char(text[1])) {
      while (size < text.size() && is_variable_char(text[size])) ++size;
      out += replace(text.substr(1, size - 1));
    } else {
      out += text.front();
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

std::span<const AdoptedClient> adopted_clients() { return kClients; }

const AdoptedClient* find_adopted_client(std::string_view word) {
  const auto* const found = std::ranges::find(kClients, word, &AdoptedClient::word);
  return found == kClients.end() ? nullptr : found;
}

std::vector<std::string> files_of(const AdoptedClient& client,
                                  const config::Environment& variables) {
  std::vector<std::string> files;
  const auto add = [&files](const std::string& folder, std::string_view file) {
    if (!folder.empty() && !file.empty()) files.push_back(folder + "/" + std::string(file));
  };
  if (!client.folder_variable.empty()) {
    const std::string folder = variables(std::string(client.folder_variable)).value_or("");
    add(folder, client.file_in_folder);
    if (!files.empty()) return files;
  }
  const std::string home = variables("HOME").value_or("");
  add(config_home(variables), client.file_in_config);
  add(home, client.file_in_home);
  add(home, client.file_on_macos);
  if (files.size() == 2 && files[0] == files[1]) files.pop_back();
  return files;
}

tl::expected<std::string, std::string> resolved(std::string_view text, References references,
                                                const config::Environment& variables) {
  if (references == References::none) return std::string(text);
  std::string problem;
  std::string out =
      with_references(text, references == References::unbraced, [&](std::string_view inner) {
        auto value = references == References::editor ? editor_value(variables, inner)
                                                      : shell_value(variables, inner);
        if (!value && problem.empty()) problem = value.error();
        return value.value_or("");
      });
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  return out;
}

// --- Servers ---------------------------------------------------------------------------------

namespace {

constexpr std::string_view kWorkspace = "${workspaceFolder}";

// "My Server" is "my-server".
std::string backend_name(std::string_view name) {
  std::string out;
  for (const char c : to_lower_ascii(name)) {
    const bool is_fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    // A name that begins with a hyphen would be read as an option.
    if (is_fine && !(out.empty() && c == '-')) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (out.ends_with('-')) out.pop_back();
  return out;
}

std::string capitals(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    out += is_variable_char(c) ? c : '_';
  }
  return out;
}

// Whether a command with spaces is one program by its path; quotes are a shell's matter.
bool is_one_word(std::string_view command) {
  return command.substr(0, command.find(' ')).find('/') != std::string_view::npos ||
         command.find_first_of("\"'\\") != std::string_view::npos;
}

class Import {
 public:
  explicit Import(const ImportSurroundings& surroundings) : surroundings_(surroundings) {}

  tl::expected<ImportedServers, std::string> run(std::string_view text) {
    const auto servers = read_servers(text);
    if (!servers) return tl::unexpected(servers.error());
    for (size_t i = 0; i < servers->keys.size(); ++i) {
      take_server(servers->keys[i], servers->items[i]);
    }
    return std::move(out_);
  }

 private:
  void warn(const std::string& name, const std::string& what) {
    out_.warnings.push_back(visible(name, VisibleText::line) + ": " +
                            visible(what, VisibleText::line));
  }

  void take_server(const std::string& name, const JsonNode& server) {
    std::optional<std::string> url;
    for (const char* const key : {"httpUrl", "url"}) {
      const JsonNode* const item = server.find(key);
      if (item != nullptr && item->text()) url = item->text();
    }
    if (url) {
      // An adoption does not write a backend for a server by URL.
      const std::vector<std::string> reaches_it = config::connect_command(*url);
      return warn(name, "left out, as it is reached by URL already (" + reaches_it.back() + ")" +
                            (resolves() ? "; stdgate serves commands"
                                        : "; to serve it here too, write command: " +
                                              config::list_text(reaches_it)));
    }
    const JsonNode* const enabled = server.find("enabled");
    if (server.is_true("disabled") || (enabled != nullptr && enabled->scalar == "false")) {
      return warn(name, "left out, as it is disabled");
    }
    const auto [owner, program_key, program, args, env] = parts_of(server);
    const std::string command = owner.text_at(program_key);
    if (command.empty()) return warn(name, "left out, as it names no command");
    const std::vector<JsonNode>& words = owner.list_at("args");
    if (!words.empty() && is_connect(command, words.front().text().value_or(""))) {
      return warn(name, "left out, as it is reached by stdgate connect already");
    }
    BackendLines lines;
    lines.name = backend_name(name);
    if (!take_name(name, lines.name)) return;
    problem_.clear();
    const bool has_args = args != nullptr && args->json() != "null";
    if (has_args && args->kind != JsonNode::Kind::array) {
      warn(name, "its args are no array, and were left out");
    }
    take_command(name, command, words, lines);
    if (!resolves() && config::hide_secret_arguments(lines.command) != lines.command) {
      warn(name, "its command holds what looks like a secret; put that into a variable");
    }
    lines.cwd = reference(name, owner.text_at("cwd"));
    lines.expands = !resolves();
    if (env != nullptr) take_environment(name, *env, lines);
    take_environment_file(name, owner.text_at("envFile"), lines);
    take_inherited(owner.list_at("env_vars"), lines);
    if (!problem_.empty()) return warn(name, "left out, as " + problem_);
    const std::string mistake = mistake_in(lines);
    if (!mistake.empty()) return warn(name, "left out: " + mistake);
    out_.backends.push_back(std::move(lines));
    out_.names.push_back(name);
  }

  // Whether a backend may be called so. An adoption takes the first free name that begins with it.
  bool take_name(const std::string& name, std::string& wanted) {
    const auto checked = config::check_backend_name(wanted);
    if (resolves()) {
      if (!checked) wanted = "server";
      return true;
    }
    if (!checked) {
      warn(name, wanted.empty()
                     ? "left out, as its name has no character that a path can have; rename it"
                     : "left out: " + checked.error());
      return false;
    }
    if (std::ranges::find(out_.backends, wanted, &BackendLines::name) == out_.backends.end()) {
      return true;
    }
    warn(name, "left out, as there is another " + wanted);
    return false;
  }

  [[nodiscard]] bool resolves() const { return surroundings_.environment != nullptr; }

  void take_command(const std::string& name, const std::string& command,
                    const std::vector<JsonNode>& arguments, BackendLines& lines) {
    if (!arguments.empty() || command.find(' ') == std::string::npos) {
      lines.command.push_back(reference(name, command));
    } else if (is_one_word(command)) {
      warn(name,
           "its command has spaces and no args, and was taken for the path of one program; "
           "if it is a program and its arguments, write each as a word of its own");
      lines.command.push_back(reference(name, command));
    } else {
      for (const std::string_view word : split(command, ' ')) {
        if (!word.empty()) lines.command.push_back(reference(name, word));
      }
      warn(name, "its command has spaces and no args, and was split at them into " +
                     std::to_string(lines.command.size()) + " words");
    }
    for (const JsonNode& argument : arguments) {
      if (const auto word = argument.text()) {
        lines.command.push_back(reference(name, *word));
        continue;
      }
      // Clients pass on numbers and booleans as they are written.
      lines.command.push_back(argument.json());
      if (!argument.literal()) {
        warn(name,
             "the argument " + lines.command.back() + " is no text; look whether it is right");
      }
    }
  }

  // Codex's names of variables that are passed on.
  void take_inherited(const std::vector<JsonNode>& names, BackendLines& lines) const {
    std::vector<std::string> inherited;
    for (const JsonNode& one : names) {
      const auto name = one.text();
      if (!name) continue;
      if (!resolves()) {
        inherited.push_back(yaml_text(*name));
      } else if (const auto value = surroundings_.environment(*name)) {
        lines.env.emplace(*name, yaml_text(*value));
      }
    }
    if (inherited.empty()) return;
    lines.others.push_back("env_inherit: [" + joined(inherited, ", ") + "]");
  }

  // VS Code's.
  void take_environment_file(const std::string& name, const std::string& written,
                             BackendLines& lines) {
    if (written.empty()) return;
    std::string file = resolves() ? reference(name, written) : written;
    const std::string& workspace = surroundings_.workspace;
    if (file.starts_with(kWorkspace) && !workspace.empty()) {
      file.replace(0, kWorkspace.size(), workspace);
    } else if (!file.starts_with('/') && !file.starts_with("${") && !workspace.empty()) {
      file.insert(0, workspace + "/");
    }
    const bool is_there = file.find("${") == std::string::npos && surroundings_.has_file(file);
    if (resolves() && (!is_there || !file.starts_with('/'))) {
      // Without it the server is another one.
      if (problem_.empty()) problem_ = "its envFile " + file + " is not found";
      return;
    }
    if (!is_there) {
      return warn(name,
                  "its envFile " + file +
                      " was left out, as there is no such file; write env_file: with its path");
    }
    lines.others.push_back("env_file: " + yaml_text(file));
  }

  void take_environment(const std::string& name, const JsonNode& env, BackendLines& lines) {
    for (size_t i = 0; i < env.keys.size(); ++i) {
      const std::string& variable = env.keys[i];
      const auto value = env.items[i].text() ? env.items[i].text() : env.items[i].literal();
      if (!value) {
        warn(name, "env." + variable + " is no text, and left out");
        continue;
      }
      const std::string& text = *value;
      if (resolves()) {
        lines.env.emplace(variable, yaml_text(reference(name, text)));
        continue;
      }
      const bool is_reference = text.find("${") != std::string::npos ||
                                (surroundings_.expands_names && text.starts_with('$'));
      if (!is_reference && config::holds_secret(variable, text)) {
        const std::string source = source_of(lines.name, variable, text);
        std::string what = "its " + variable;
        what.append(" was not copied: set ").append(source);
        warn(name, what.append(" in stdgate's environment"));
        lines.env.emplace(variable, yaml_reference(source));
      } else {
        lines.env.emplace(variable, yaml_expanding(reference(name, text)));
      }
    }
  }

  // The variable of stdgate that has this secret; two servers may have another one of a name.
  std::string source_of(const std::string& backend, const std::string& variable,
                        std::string value) {
    const auto [known, is_new] = secrets_.emplace(variable, value);
    if (is_new || known->second == value) return variable;
    return capitals(backend) + "_" + variable;
  }

  // VS Code's ${env:NAME} as ours, and its ${workspaceFolder} if that is known; Gemini's $NAME.
  std::string reference(const std::string& name, std::string_view text) {
    if (resolves()) {
      auto value = resolved(text, surroundings_.references, surroundings_.environment);
      if (!value) problem_ = value.error();
      return value.value_or("");
    }
    return with_references(text, surroundings_.expands_names, [&](std::string_view inner) {
      constexpr std::string_view kEnv = "env:";
      if (inner.starts_with(kEnv)) inner.remove_prefix(kEnv.size());
      const std::string whole = "${" + std::string(inner) + "}";
      if (whole == kWorkspace && !surroundings_.workspace.empty()) {
        std::string path;
        for (const char c : surroundings_.workspace) path.append(c == '$' ? 2 : 1, c);
        return path;
      }
      const bool is_its_own = inner.starts_with("input:") || inner.starts_with("workspaceFolder") ||
                              inner.starts_with("userHome");
      if (is_its_own) warn(name, "replace " + whole + ", which only its client knows");
      return is_its_own ? "$" + whole : whole;
    });
  }

  const ImportSurroundings& surroundings_;
  ImportedServers out_;
  std::map<std::string, std::string> secrets_;
  std::string problem_;  // why the present server cannot be taken; empty: it can
};

}  // namespace

tl::expected<ImportedServers, std::string> import_servers(std::string_view text,
                                                          const ImportSurroundings& surroundings) {
  return Import(surroundings).run(text);
}

}  // namespace stdgate::tools
