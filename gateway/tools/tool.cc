#include "gateway/tools/tool.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "gateway/base/encodings.h"

namespace stdgate::tools {

// Those that ask a peer are in peer_tools.cc, each other one in the source of its name.
extern const Tool kDoctorTool, kLsTool, kToolsTool, kCallTool, kConnectTool, kSnippetTool, kAddTool,
    kAdoptTool, kPinTool, kCompletionTool, kManTool, kUserInstallTool, kInstallTool;

namespace {

constexpr size_t kHelpColumn = 24;

}  // namespace

void ToolOutput::warn(std::string_view text) {
  err += "stdgate: warning: " + visible(text, VisibleText::line) + "\n";
}

void ToolOutput::fail(const Trouble& trouble) {
  exit_code = std::max(exit_code, trouble.exit_code);
  err += "stdgate: " + visible(trouble.message, VisibleText::lines) + "\n";
}

ToolOutput failure(const Trouble& trouble) {
  ToolOutput output;
  output.fail(trouble);
  return output;
}

ToolOutput tool_error(int exit_code, const std::string& message) {
  return failure({exit_code, message});
}

ToolOutput tool_text(std::string text) { return {kHealthy, std::move(text), {}}; }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : separator).append(word);
  return out;
}

bool ToolArguments::has(std::string_view option) const { return !values(option).empty(); }

std::string ToolArguments::value(std::string_view option, std::string_view otherwise) const {
  const std::vector<std::string> found = values(option);
  return found.empty() ? std::string(otherwise) : found.back();
}

tl::expected<Duration, Trouble> ToolArguments::timeout(Duration otherwise) const {
  if (!has("--timeout")) return otherwise;
  return config::parse_duration(value("--timeout")).map_error([](const std::string& error) {
    return Trouble{kBadUsage, "--timeout: " + error};
  });
}

std::vector<std::string> ToolArguments::values(std::string_view option) const {
  std::vector<std::string> found;
  for (const auto& [name, value] : options) {
    if (name == option) found.push_back(value);
  }
  return found;
}

std::span<const Tool> all_tools() {
  static const std::array kTools{
      kDoctorTool, kLsTool,  kToolsTool,      kCallTool, kConnectTool,     kSnippetTool, kAddTool,
      kAdoptTool,  kPinTool, kCompletionTool, kManTool,  kUserInstallTool, kInstallTool};
  return kTools;
}

std::vector<app::FlagSpec> options_of(const Tool& tool) {
  std::vector<app::FlagSpec> options;
  for (const ToolOption& option : tool.options) {
    app::FlagSpec& own = options.emplace_back();
    own.name = option.name;
    own.placeholder = option.placeholder;
    own.help = option.help;
  }
  if (!tool.takes_backend_options) return options;
  for (app::FlagSpec& flag : app::command_flags()) {
    const bool is_own =
        std::ranges::find(tool.options, flag.name, &ToolOption::name) != tool.options.end();
    if (flag.scope == app::FlagScope::backend && !is_own) options.push_back(std::move(flag));
  }
  return options;
}

std::vector<app::CommandWord> command_words() {
  const std::span<const app::CommandWord> own = app::own_words();
  std::vector<app::CommandWord> words{own.front()};
  for (const Tool& tool : all_tools()) words.push_back({tool.word, tool.arguments, tool.summary});
  words.insert(words.end(), own.begin() + 1, own.end());
  return words;
}

app::CommandLine command_line_of(const ToolArguments& arguments) {
  std::vector<std::string> words{"stdgate"};
  words.insert(words.end(), arguments.backend_options.begin(), arguments.backend_options.end());
  if (arguments.has("--config")) words.push_back("--config=" + arguments.value("--config"));
  if (arguments.has_command) {
    words.emplace_back("--");
    words.insert(words.end(), arguments.command.begin(), arguments.command.end());
  }
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  std::error_code gone;
  return app::parse_command_line(static_cast<int>(argv.size()), argv.data(),
                                 std::filesystem::current_path(gone).string());
}

tl::expected<config::Config, std::string> config_of(const ToolArguments& arguments,
                                                    const ToolSurroundings& surroundings,
                                                    const std::string& backend) {
  const app::CommandLine line = command_line_of(arguments);
  if (line.action == app::CommandLine::Action::exit) return tl::unexpected(line.output);
  return backend.empty() ? app::load_config(line, surroundings.environment)
                         : app::load_config_of(line, surroundings.environment, backend);
}

const Tool* find_tool(std::string_view word) {
  const std::span<const Tool> tools = all_tools();
  const auto found = std::ranges::find(tools, word, &Tool::word);
  return found == tools.end() ? nullptr : &*found;
}

tl::expected<ToolArguments, std::string> parse_tool_arguments(
    const Tool& tool, std::span<const std::string> arguments) {
  const std::vector<app::FlagSpec> options = options_of(tool);
  ToolArguments out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      out.has_command = true;
      out.command.assign(arguments.begin() + static_cast<ptrdiff_t>(i) + 1, arguments.end());
      if (out.command.empty()) return tl::unexpected<std::string>("a command must follow --");
      break;
    }
    if (argument.size() < 2 || argument.front() != '-') {
      out.words.push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const bool has_value = equals != std::string::npos;
    const std::string name = argument.substr(0, equals);
    const auto option = std::ranges::find(options, name, &app::FlagSpec::name);
    if (option == options.end()) {
      const std::string help = "stdgate " + std::string(tool.word) + " --help";
      return tl::unexpected(
          app::unknown_option_text(app::names_of(options, {"--help"}), name, help));
    }
    const bool takes_value = !option->placeholder.empty();
    if (has_value && !takes_value) return tl::unexpected(name + " takes no value");
    std::string value = has_value ? argument.substr(equals + 1) : std::string();
    if (takes_value && !has_value) {
      ++i;
      if (i == arguments.size() || arguments[i] == "--") {
        return tl::unexpected(argument + " needs a value");
      }
      value = arguments[i];
    }
    if (option->scope == app::FlagScope::backend) {
      const std::string with_value = std::string(name).append("=").append(value);
      out.backend_options.push_back(takes_value ? with_value : name);
    } else {
      out.options.emplace_back(name, std::move(value));
    }
  }
  return out;
}

std::string help_of(const Tool& tool) {
  std::string text = std::string(tool.about) + "\nUsage:\n" + std::string(tool.usage);
  if (!tool.options.empty()) text += "\nOptions:\n";
  for (const ToolOption& option : tool.options) {
    std::string line = "  " + std::string(option.name);
    if (!option.placeholder.empty()) line.append(" ").append(option.placeholder);
    line.resize(std::max(line.size() + 2, kHelpColumn), ' ');
    text += line + std::string(option.help) + "\n";
  }
  if (tool.takes_backend_options) {
    text += "\nIn front of -- COMMAND, the options of a backend too: see stdgate --help.\n";
  }
  return text;
}

ToolOutput run_tool(const Tool& tool, std::span<const std::string> arguments,
                    const ToolSurroundings& surroundings) {
  const auto dashes = std::ranges::find(arguments, "--");
  if (std::any_of(arguments.begin(), dashes,
                  [](const std::string& word) { return word == "--help" || word == "-h"; })) {
    return tool_text(help_of(tool));
  }
  const auto parsed = parse_tool_arguments(tool, arguments);
  if (!parsed) {
    return tool_error(kBadUsage, std::string(tool.word) + ": " + parsed.error());
  }
  return tool.run(*parsed, surroundings);
}

}  // namespace stdgate::tools
