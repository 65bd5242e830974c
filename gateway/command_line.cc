// The command line: arguments to a value, and that value to a configuration.
#include "gateway/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "gateway/command_flags.h"
#include "gateway/config/backend_name.h"
#include "gateway/config/nearest_word.h"
#include "gateway/config/value_parser.h"

namespace stdgate {
namespace {

constexpr std::string_view kDefaultFile = "gateway.yaml";
constexpr std::string_view kDefaultName = "default";
constexpr size_t kMaxConfigFile = 1 << 20;

// What CLI11 found: one list of texts per entry of kFlags.
struct Arguments {
  std::vector<std::string> config_files;
  std::array<std::vector<std::string>, kFlags.size()> values;
};

CommandLine exit_with_error(const std::string& message) {
  CommandLine result;
  result.action = CommandLine::Action::exit;
  result.exit_code = kUsageError;
  result.output = "stdgate: " + message + "\n";
  return result;
}

CommandLine exit_with_text(std::string text) {
  CommandLine result;
  result.action = CommandLine::Action::exit;
  result.output = std::move(text);
  return result;
}

// A text that can be pasted into a shell.
std::string shell_quote(const std::string& word) {
  if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_@%+=:,./-") == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// `unknown` is the first of our arguments that is none of ours, and all behind it: mistyped, or a
// command without "--" in front.
CommandLine explain_unknown(const std::vector<std::string>& ours,
                            const std::vector<std::string>& unknown) {
  const std::string& word = unknown.front();
  if (word.starts_with("-")) {
    std::vector<std::string_view> names{"--config", "--help", "--version"};
    for (const FlagSpec& spec : kFlags) names.emplace_back(spec.name);
    const auto nearest = nearest_word(word.substr(0, word.find('=')), names);
    return exit_with_error("unknown option " + word + "; " +
                           (nearest ? "did you mean " + std::string(*nearest) + "?"
                                    : "stdgate --help lists the options"));
  }
  std::string hint = "stdgate";
  for (size_t i = 0; i + unknown.size() < ours.size(); ++i) hint += " " + shell_quote(ours[i]);
  hint += " --";
  for (const std::string& argument : unknown) hint += " " + shell_quote(argument);
  return exit_with_error("unknown word '" + word + "'; did you mean: " + hint);
}

// "/usr/bin/My Server.py" -> "my-server-py"; kDefaultName when nothing usable is left.
std::string name_from_command(const std::string& program) {
  std::string name;
  for (const char c : program.substr(program.rfind('/') + 1)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-') {
      name += c;
    } else if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c - 'A' + 'a');
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return check_backend_name(name) ? name : std::string(kDefaultName);
}

Setting make_setting(const FlagSpec& spec, const std::string& backend,
                     std::variant<std::string, std::vector<std::string>> value) {
  Setting setting;
  if (spec.scope == FlagScope::backend) setting.path = {"backends", backend};
  for (const char* key : spec.path) {
    if (key != nullptr) setting.path.emplace_back(key);
  }
  setting.value = std::move(value);
  return setting;
}

// Appends what `spec` was given as; false when a NAME=VALUE is none.
bool append_flag(const FlagSpec& spec, const std::vector<std::string>& values,
                 const std::string& backend, std::vector<CommandLine::Flag>& out) {
  switch (spec.shape) {
    case FlagShape::text:
      out.push_back({spec.name, make_setting(spec, backend, values.back())});
      return true;
    case FlagShape::list:
      out.push_back({spec.name, make_setting(spec, backend, values)});
      return true;
    case FlagShape::yes:
      out.push_back({spec.name, make_setting(spec, backend, std::string("true"))});
      return true;
    case FlagShape::no:
      out.push_back({spec.name, make_setting(spec, backend, std::string("false"))});
      return true;
    case FlagShape::pairs:
      for (const std::string& pair : values) {
        const size_t equals = pair.find('=');
        if (equals == std::string::npos || equals == 0) return false;
        CommandLine::Flag flag{spec.name, make_setting(spec, backend, pair.substr(equals + 1))};
        flag.setting.path.push_back(pair.substr(0, equals));
        out.push_back(std::move(flag));
      }
      return true;
  }
  return true;
}

// Registers our options; their values arrive in `out`, which must outlive `app`.
void add_options(CLI::App& app, Arguments& out) {
  app.prefix_command();
  app.set_help_flag("-h,--help");
  app.set_version_flag("--version", "stdgate " STDGATE_VERSION);
  app.add_option("-c,--config", out.config_files)->allow_extra_args(false);
  for (size_t i = 0; i < kFlags.size(); ++i) {
    const FlagSpec& spec = kFlags[i];
    if (spec.shape == FlagShape::yes || spec.shape == FlagShape::no) {
      app.add_flag(spec.name, out.values[i]);
      continue;
    }
    app.add_option(spec.name, out.values[i])->allow_extra_args(false);
  }
  // Options may stand behind the word too: `stdgate check --min 2 -- COMMAND`.
  app.add_subcommand("check")->fallthrough();
  app.add_subcommand("demo-server");
  app.require_subcommand(0, 1);
}

// What ends the program right away: help, version, an error; nothing when `app` has been filled in.
std::optional<CommandLine> run_parser(CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return exit_with_text(help_text());
  } catch (const CLI::CallForVersion& version) {
    return exit_with_text(std::string(version.what()) + "\n");
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    return exit_with_error(text.substr(0, text.find(':')) + " needs a value");
  } catch (const CLI::ParseError& error) {
    return exit_with_error(error.what());
  }
}

// `--cancel-method=` is an empty value; CLI11 would take the next argument for it.
std::vector<std::string> split_empty_values(std::vector<std::string>::const_iterator begin,
                                            std::vector<std::string>::const_iterator end) {
  std::vector<std::string> arguments;
  for (auto it = begin; it != end; ++it) {
    if (it->starts_with("--") && it->find('=') == it->size() - 1) {
      arguments.push_back(it->substr(0, it->size() - 1));
      arguments.emplace_back();
    } else {
      arguments.push_back(*it);
    }
  }
  return arguments;
}

bool is_flag_name(const std::string& text) {
  return std::any_of(kFlags.begin(), kFlags.end(),
                     [&](const FlagSpec& spec) { return text == spec.name; });
}

// What is wrong with how a flag was given; empty: nothing.
std::string misuse(const FlagSpec& spec, const std::vector<std::string>& values,
                   bool with_command) {
  const std::string name = spec.name;
  if (spec.scope == FlagScope::backend && !with_command) {
    return name +
           " goes with a command, as in stdgate [options] -- COMMAND; with a file, set it there";
  }
  if (spec.shape == FlagShape::text && values.size() > 1) return name + " is given more than once";
  if ((spec.shape == FlagShape::yes || spec.shape == FlagShape::no) && values.back() != "true") {
    return name + " takes no value";
  }
  if (std::any_of(values.begin(), values.end(), is_flag_name)) {
    return name + ": expected " + spec.placeholder + ", found another option";
  }
  return {};
}

// The same for --config.
std::string misuse_of_config(const std::vector<std::string>& files, bool with_command) {
  if (files.empty()) return {};
  if (files.size() > 1) return "--config is given more than once";
  if (files.front().empty()) return "--config: expected FILE";
  if (with_command) return "either --config or a command behind --, not both";
  return {};
}

// Flags as settings, and the rules of what goes with what.
CommandLine combine(const Arguments& arguments, CommandLine result) {
  const std::string wrong_config =
      misuse_of_config(arguments.config_files, !result.command.empty());
  if (!wrong_config.empty()) return exit_with_error(wrong_config);
  if (!arguments.config_files.empty()) result.config_file = arguments.config_files.front();
  std::string backend = result.command.empty() ? "" : name_from_command(result.command.front());
  for (size_t i = 0; i < kFlags.size(); ++i) {
    const FlagSpec& spec = kFlags[i];
    const std::vector<std::string>& values = arguments.values[i];
    if (values.empty()) continue;
    const std::string wrong = misuse(spec, values, !result.command.empty());
    if (!wrong.empty()) return exit_with_error(wrong);
    if (std::string_view(spec.name) == kNameFlag) {
      backend = values.back();
    } else if (!append_flag(spec, values, backend, result.flags)) {
      return exit_with_error(std::string(spec.name) + ": expected " + spec.placeholder);
    }
  }
  if (result.command.empty()) return result;
  result.flags.push_back({"COMMAND", {{"backends", backend, "command"}, result.command}});
  return result;
}

std::string join(const std::vector<std::string>& path) {
  std::string joined;
  for (const std::string& key : path) joined += (joined.empty() ? "" : ".") + key;
  return joined;
}

// One error as a line: by its place in the file, by its flag, else by its path.
std::string describe(const ConfigError& error, const std::string& file,
                     const CommandLine& command_line) {
  if (error.line > 0) return error.to_string(file) + "\n";
  const std::string path = error.path.substr(0, error.path.find('['));
  for (const CommandLine::Flag& flag : command_line.flags) {
    std::vector<std::string> flag_path = flag.setting.path;
    if (join(flag_path) == path) return "stdgate: " + flag.name + ": " + error.message + "\n";
    flag_path.pop_back();
    if (flag_path.size() == 2 && join(flag_path) == path) {  // the backend itself
      return "stdgate: " + std::string(kNameFlag) + ": " + error.message + "\n";
    }
  }
  return error.to_string(file.empty() ? "stdgate" : file) + "\n";
}

tl::expected<std::string, std::string> read_file(const std::string& file) {
  std::error_code not_found;
  if (std::filesystem::is_directory(file, not_found)) {
    return tl::unexpected("stdgate: " + file + " is a directory\n");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return tl::unexpected("stdgate: cannot read " + file + ": " +
                          std::generic_category().message(errno) + "\n");
  }
  std::string text(kMaxConfigFile + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (stream.bad()) return tl::unexpected("stdgate: cannot read " + file + "\n");
  if (text.size() > kMaxConfigFile) {
    return tl::unexpected("stdgate: " + file + " is larger than " + print_size(kMaxConfigFile) +
                          "\n");
  }
  return text;
}

// The file to read; empty for the one-backend form.
tl::expected<std::string, std::string> choose_file(const CommandLine& command_line) {
  if (!command_line.command.empty()) return std::string();
  if (!command_line.config_file.empty()) return command_line.config_file;
  std::error_code unreadable;
  if (std::filesystem::exists(kDefaultFile, unreadable)) return std::string(kDefaultFile);
  return tl::unexpected(
      std::string("stdgate: nothing to serve: no command, no --config, and no gateway.yaml here\n"
                  "  give a command:        stdgate --protocol jsonrpc -- stdgate demo-server\n"
                  "  or a configuration:    stdgate --config FILE\n"
                  "  stdgate --help says more\n"));
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv) {
  const std::vector<std::string> all(argv + std::min(argc, 1), argv + argc);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  const std::vector<std::string> ours = split_empty_values(all.begin(), dashes);

  CLI::App app;
  Arguments arguments;
  add_options(app, arguments);
  if (auto done = run_parser(app, ours)) return *std::move(done);

  CommandLine result;
  if (app.got_subcommand("demo-server")) {
    if (all.size() != 1) return exit_with_error("demo-server takes no options and no command");
    result.action = CommandLine::Action::demo_server;
    return result;
  }
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty()) return explain_unknown(ours, unknown);
  if (app.got_subcommand("check")) result.action = CommandLine::Action::check;
  if (dashes != all.end()) {
    result.command.assign(dashes + 1, all.end());
    if (result.command.empty() || result.command.front().empty()) {
      return exit_with_error("a command must follow --");
    }
  }
  return combine(arguments, std::move(result));
}

tl::expected<Config, std::string> load_config(const CommandLine& command_line,
                                              const Environment& environment) {
  const auto file = choose_file(command_line);
  if (!file) return tl::unexpected(file.error());
  std::string yaml;
  if (!file->empty()) {
    auto text = read_file(*file);
    if (!text) return tl::unexpected(text.error());
    yaml = *std::move(text);
  }
  std::vector<Setting> settings;
  for (const CommandLine::Flag& flag : command_line.flags) settings.push_back(flag.setting);
  auto config = parse_config(yaml, environment, settings);
  if (config) return *std::move(config);
  std::string lines;
  for (const ConfigError& error : config.error()) lines += describe(error, *file, command_line);
  return tl::unexpected(std::move(lines));
}

CheckReport check_config(const CommandLine& command_line, const Environment& environment) {
  const auto config = load_config(command_line, environment);
  if (!config) return {kUsageError, config.error()};
  const size_t count = config->backends.size();
  return {0, print_config(*config) + "# ok: " + std::to_string(count) +
                 (count == 1 ? " backend\n" : " backends\n")};
}

}  // namespace stdgate
