#include "gateway/tools/tool.h"

#include <algorithm>

#include "gateway/app/command_flags.h"
#include "gateway/base/utf8.h"
#include "gateway/config/nearest_word.h"

namespace stdgate::tools {

namespace {

constexpr size_t kHelpColumn = 24;

// Reads the arguments of one call of a tool from left to right.
class ArgumentReader {
 public:
  ArgumentReader(const Tool& tool, std::span<const std::string> arguments)
      : tool_(tool), left_(arguments) {}

  tl::expected<ToolArguments, std::string> read() {
    while (!left_.empty() && problem_.empty()) read_one();
    if (!problem_.empty()) return tl::unexpected(std::move(problem_));
    return std::move(out_);
  }

 private:
  void read_one() {
    const std::string argument = left_.front();
    left_ = left_.subspan(1);
    if (argument == "--") {
      out_.has_command = true;
      out_.command.assign(left_.begin(), left_.end());
      left_ = {};
      if (out_.command.empty()) problem_ = "a command must follow --";
    } else if (argument.size() > 1 && argument.front() == '-') {
      read_option(argument);
    } else {
      out_.words.push_back(argument);
    }
  }

  void read_option(const std::string& argument) {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto* const option =
        std::find_if(tool_.options.data(), tool_.options.data() + tool_.options.size(),
                     [&name](const ToolOption& known) { return known.name == name; });
    if (option != tool_.options.data() + tool_.options.size()) {
      if (const auto value = value_of(argument, equals, !option->placeholder.empty())) {
        out_.options[name] = *value;
        out_.all_options.emplace_back(name, *value);
      }
      return;
    }
    for (const app::FlagSpec& flag : backend_flags()) {
      if (flag.name != name) continue;
      const bool takes_value =
          flag.shape != app::FlagShape::yes && flag.shape != app::FlagShape::no;
      if (const auto value = value_of(argument, equals, takes_value)) {
        out_.backend_options.push_back(takes_value ? name + "=" + *value : name);
      }
      return;
    }
    problem_ = unknown(name);
  }

  std::optional<std::string> value_of(const std::string& argument, size_t equals,
                                      bool takes_value) {
    if (!takes_value) {
      if (equals == std::string::npos) return std::string();
      problem_ = argument.substr(0, equals) + " takes no value";
      return std::nullopt;
    }
    if (equals != std::string::npos) return argument.substr(equals + 1);
    if (left_.empty() || left_.front() == "--") {
      problem_ = argument + " needs a value";
      return std::nullopt;
    }
    std::string value = left_.front();
    left_ = left_.subspan(1);
    return value;
  }

  [[nodiscard]] std::vector<app::FlagSpec> backend_flags() const {
    if (!tool_.takes_backend_options) return {};
    std::vector<app::FlagSpec> flags = app::command_flags();
    std::erase_if(flags,
                  [](const app::FlagSpec& flag) { return flag.scope != app::FlagScope::backend; });
    return flags;
  }

  [[nodiscard]] std::string unknown(const std::string& name) const {
    const std::vector<app::FlagSpec> flags = backend_flags();
    std::vector<std::string_view> names{"--help"};
    for (const ToolOption& option : tool_.options) names.push_back(option.name);
    for (const app::FlagSpec& flag : flags) names.emplace_back(flag.name);
    const auto nearest = config::nearest_word(name, names);
    return "unknown option " + name + "; " +
           (nearest ? "did you mean " + std::string(*nearest) + "?"
                    : "stdgate " + std::string(tool_.word) + " --help lists the options");
  }

  const Tool& tool_;
  std::span<const std::string> left_;
  ToolArguments out_;
  std::string problem_;
};

bool wants_help(std::span<const std::string> arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), dashes, "--help") != dashes ||
         std::find(arguments.begin(), dashes, "-h") != dashes;
}

}  // namespace

ToolOutput tool_error(int exit_code, const std::string& message) {
  ToolOutput output;
  output.exit_code = exit_code;
  output.err = "stdgate: " + visible(message, VisibleText::lines) + "\n";
  return output;
}

ToolOutput tool_text(std::string text) {
  ToolOutput output;
  output.out = std::move(text);
  return output;
}

ToolOutput failure(const Trouble& trouble) {
  return tool_error(trouble.exit_code, trouble.message);
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : separator).append(word);
  return out;
}

std::string ToolArguments::value(std::string_view option, std::string_view otherwise) const {
  const auto found = options.find(option);
  return found == options.end() ? std::string(otherwise) : found->second;
}

tl::expected<Duration, Trouble> ToolArguments::timeout(Duration otherwise) const {
  if (!has("--timeout")) return otherwise;
  return config::parse_duration(value("--timeout")).map_error([](const std::string& error) {
    return Trouble{kBadUsage, "--timeout: " + error};
  });
}

std::vector<std::string> ToolArguments::values(std::string_view option) const {
  std::vector<std::string> found;
  for (const auto& [name, value] : all_options) {
    if (name == option) found.push_back(value);
  }
  return found;
}

const Tool* find_tool(std::string_view word) {
  for (const Tool& tool : all_tools()) {
    if (tool.word == word) return &tool;
  }
  return nullptr;
}

tl::expected<ToolArguments, std::string> parse_tool_arguments(
    const Tool& tool, std::span<const std::string> arguments) {
  return ArgumentReader(tool, arguments).read();
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
  if (wants_help(arguments)) return tool_text(help_of(tool));
  const auto parsed = parse_tool_arguments(tool, arguments);
  if (!parsed) {
    return tool_error(kBadUsage, std::string(tool.word) + ": " + parsed.error());
  }
  return tool.run(*parsed, surroundings);
}

}  // namespace stdgate::tools
