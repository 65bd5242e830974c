#include "gateway/tools/adopted_client.h"

#include <algorithm>
#include <array>

namespace stdgate::tools {

namespace {

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

bool is_name_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

std::string value_or_empty(const Variables& variables, const std::string& name) {
  return variables(name).value_or("");
}

using Value = tl::expected<std::string, std::string>;

Value variable(const Variables& variables, std::string_view name) {
  if (auto value = variables(std::string(name))) return *std::move(value);
  return tl::unexpected("its variable " + std::string(name) +
                        " is not set here; set it and adopt again");
}

// What stands between the braces of ${…}.
Value shell_value(const Variables& variables, std::string_view inner) {
  const size_t otherwise = inner.find(":-");
  const std::string_view name = inner.substr(0, otherwise);
  const auto value = variables(std::string(name));
  if (otherwise == std::string_view::npos || value.has_value()) return variable(variables, name);
  return std::string(inner.substr(otherwise + 2));
}

Value editor_value(const Variables& variables, std::string_view inner) {
  constexpr std::string_view kEnv = "env:";
  if (inner.starts_with(kEnv)) return variable(variables, inner.substr(kEnv.size()));
  if (inner == "userHome") return variable(variables, "HOME");
  if (inner == "pathSeparator" || inner == "/") return "/";
  return tl::unexpected("only its client knows ${" + std::string(inner) + "}");
}

}  // namespace

std::span<const AdoptedClient> adopted_clients() { return kClients; }

const AdoptedClient* find_adopted_client(std::string_view word) {
  const auto* const found = std::ranges::find(kClients, word, &AdoptedClient::word);
  return found == kClients.end() ? nullptr : found;
}

std::string config_home(const Variables& variables) {
  std::string named = value_or_empty(variables, "XDG_CONFIG_HOME");
  // A relative one is invalid (XDG Base Directory Specification).
  if (named.starts_with('/')) return named;
  const std::string home = value_or_empty(variables, "HOME");
  return home.empty() ? std::string() : home + "/.config";
}

std::vector<std::string> files_of(const AdoptedClient& client, const Variables& variables) {
  std::vector<std::string> files;
  const auto add = [&files](const std::string& folder, std::string_view file) {
    if (!folder.empty() && !file.empty()) files.push_back(folder + "/" + std::string(file));
  };
  if (!client.folder_variable.empty()) {
    const std::string folder = value_or_empty(variables, std::string(client.folder_variable));
    add(folder, client.file_in_folder);
    if (!files.empty()) return files;
  }
  const std::string home = value_or_empty(variables, "HOME");
  add(config_home(variables), client.file_in_config);
  add(home, client.file_in_home);
  add(home, client.file_on_macos);
  if (files.size() == 2 && files[0] == files[1]) files.pop_back();
  return files;
}

tl::expected<std::string, std::string> resolved(std::string_view text, References references,
                                                const Variables& variables) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('}');
    Value value;
    if (references != References::none && text.starts_with("${") && end != std::string_view::npos) {
      const std::string_view inner = text.substr(2, end - 2);
      value = references == References::editor ? editor_value(variables, inner)
                                               : shell_value(variables, inner);
      text.remove_prefix(end + 1);
    } else if (references == References::unbraced && text.size() > 1 && text[0] == '$' &&
               is_name_char(text[1])) {
      size_t size = 1;
      while (size < text.size() && is_name_char(text[size])) ++size;
      value = variable(variables, text.substr(1, size - 1));
      text.remove_prefix(size);
    } else {
      value = std::string(1, text.front());
      text.remove_prefix(1);
    }
    if (!value) return value;
    out += *value;
  }
  return out;
}

}  // namespace stdgate::tools
