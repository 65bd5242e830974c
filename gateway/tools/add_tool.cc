// `stdgate add`: a backend into gateway.yaml, or the servers of an MCP client.
#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/config/backend_facts.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_ranges.h"
#include "gateway/config/secret.h"
#include "gateway/tools/client_import.h"
#include "gateway/tools/gateway_yaml.h"
#include "gateway/tools/local_files.h"
#include "gateway/tools/tool.h"
#include "transports/stdio/program_search.h"

namespace stdgate::tools {

namespace {

constexpr std::string_view kAddUsage =
    "  stdgate add [options] NAME -- COMMAND [ARG...]\n"
    "  stdgate add [options] --import FILE\n";
constexpr std::string_view kAddAbout =
    "Adds a backend to gateway.yaml. The rest of the file stays as it is, comments\n"
    "too. --import adds the servers of an MCP client. FILE is the client's\n"
    "claude_desktop_config.json, .mcp.json, mcp.json, settings.json (VS Code, Gemini\n"
    "CLI, Zed) or config.toml (Codex). Secrets are not copied: they become references\n"
    "to variables of stdgate's environment.\n"
    "\n"
    "Exit code: 0 added, 1 not, 2 usage.\n";
constexpr std::array kAddOptions{
    ToolOption{"--import", "FILE", "the settings of an MCP client"},
    ToolOption{"--config", "FILE", "the file to add to (gateway.yaml)"},
    ToolOption{"--dry-run", "", "print the file, and write nothing"},
};

// The configuration that puts all backends behind one URL.
std::string offer_of_server(const std::vector<BackendLines>& backends) {
  std::vector<std::string> names;
  names.reserve(backends.size());
  for (const BackendLines& backend : backends) names.push_back(backend.name);
  return "for one URL with all of them, write too:\n  servers: { all: { default: true, members: [" +
         joined(names, ", ") + "] } }\n";
}

ToolOutput write(const std::string& file, const std::string& text,
                 const std::vector<BackendLines>& backends, std::vector<std::string> warnings,
                 bool is_dry_run) {
  auto added = add_backends(text, backends, file);
  if (!added) return tool_error(kFailed, file + ": " + added.error());
  warnings.insert(warnings.end(), added->warnings.begin(), added->warnings.end());
  ToolOutput output;
  for (const std::string& warning : warnings) output.warn(warning);
  if (is_dry_run) {
    output.out = added->text;
    return output;
  }
  if (const auto written = replace_file(file, added->text); !written) {
    return tool_error(kFailed, written.error());
  }
  output.out = "added to " + visible(file, VisibleText::line) + ":";
  for (const BackendLines& backend : backends) output.out += " " + backend.name;
  output.out += '\n';
  if (backends.size() > 1) output.out += offer_of_server(backends);
  return output;
}

// The folder that settings in its .vscode or .cursor are of; empty: these are of none.
std::string workspace_of(const std::string& settings) {
  std::error_code unreadable;
  const std::filesystem::path file = std::filesystem::absolute(settings, unreadable);
  const std::filesystem::path folder = file.lexically_normal().parent_path();
  const bool is_of_workspace = folder.filename() == ".vscode" || folder.filename() == ".cursor";
  return is_of_workspace ? folder.parent_path().string() : std::string();
}

ToolOutput run_import(const ToolArguments& arguments, const std::string& file,
                      const std::string& text) {
  const std::string source = arguments.value("--import");
  const auto settings = config::read_text_file(source, config::kMaxConfigFile);
  if (!settings) return tool_error(kFailed, settings.error());
  const bool is_of_gemini = source.find(".gemini/") != std::string::npos;
  auto servers = import_servers(*settings, {workspace_of(source), is_of_gemini, file_exists});
  if (!servers) return tool_error(kFailed, source + ": " + servers.error());
  if (servers->backends.empty()) {
    std::string reasons;
    for (const std::string& warning : servers->warnings) reasons += "\n  " + warning;
    return tool_error(kFailed, source + ": there is nothing to import" + reasons);
  }
  return write(file, text, servers->backends, std::move(servers->warnings),
               arguments.has("--dry-run"));
}

ToolOutput add_server(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  const bool imports = arguments.has("--import");
  const bool is_good = imports ? arguments.words.empty() && !arguments.has_command
                               : arguments.words.size() == 1 && arguments.has_command;
  if (!is_good) {
    return tool_error(kBadUsage, "add: expected NAME -- COMMAND, or --import FILE");
  }
  const std::string file = arguments.value("--config", kUsualFile);
  std::string text;
  if (file_exists(file)) {
    auto present = config::read_text_file(file, config::kMaxConfigFile);
    if (!present) return tool_error(kFailed, present.error());
    text = *std::move(present);
  }
  if (imports) return run_import(arguments, file, text);
  const std::string& name = arguments.words.front();
  if (const auto good = config::check_backend_name(name); !good) {
    return tool_error(kBadUsage, "add: " + name + ": " + good.error());
  }
  ToolArguments of_backend = arguments;
  std::erase_if(of_backend.options, [](const auto& option) { return option.first == "--config"; });
  of_backend.backend_options.push_back("--name=" + name);
  const app::CommandLine line = command_line_of(of_backend);
  if (line.action == app::CommandLine::Action::exit) return {kBadUsage, {}, line.output};
  std::vector<std::string> warnings;
  BackendLines backend = lines_of(line, warnings);
  backend.name = name;
  pool::LaunchSpec launch;
  launch.command = line.command;
  launch.environment = surroundings.variables;
  if (stdio::is_command_line(launch)) {
    return tool_error(kBadUsage, "add: " + stdio::command_line_problem(line.command[0]).text());
  }
  return write(file, text, {backend}, std::move(warnings), arguments.has("--dry-run"));
}

}  // namespace

extern const Tool kAddTool{"add",     "NAME -- COMMAND", "add a backend to FILE, or a client's",
                           kAddUsage, kAddAbout,         kAddOptions,
                           true,      add_server};

}  // namespace stdgate::tools
