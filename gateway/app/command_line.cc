// The command line: arguments to a value.
#include "gateway/app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "gateway/base/encodings.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_parser.h"
#include "gateway/config/config_ranges.h"

namespace stdgate::app {
namespace {

// The words that may stand first.
constexpr std::string_view kCheck = "check";
constexpr std::string_view kDemoServer = "demo-server";
constexpr std::string_view kVersion = "version";
constexpr std::string_view kHelp = "help";
constexpr std::string_view kConfig = "config";
constexpr std::string_view kHashKey = "hash-key";
constexpr std::string_view kAudit = "audit";

// The findings of CLI11: one list of texts for each flag.
struct Arguments {
  std::span<const CommandWord> words;
  std::vector<FlagSpec> flags = command_flags();
  std::vector<std::vector<std::string>> values{flags.size()};
  std::vector<std::string> config_files;
  CommandLine of_check;  // what only check takes
};

CommandLine exit_with_error(const std::string& message) {
  CommandLine result;
  result.action = CommandLine::Action::exit;
  result.exit_code = kUsageError;
  result.output = "stdgate: " + visible(message, VisibleText::line) + "\n";
  return result;
}

CommandLine exit_with_text(std::string text) {
  CommandLine result;
  result.action = CommandLine::Action::exit;
  result.output = std::move(text);
  return result;
}

config::Setting make_setting(const FlagSpec& spec, const std::string& backend,
                             std::variant<std::string, std::vector<std::string>> value) {
  config::Setting setting;
  if (spec.scope == FlagScope::backend) setting.path = {"backends", backend};
  setting.path.insert(setting.path.end(), spec.path.begin(), spec.path.end());
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
        const size_t equals = std::min(pair.find('='), pair.size());
        if (equals == 0) return false;
        const bool has_value = equals < pair.size();
        CommandLine::Flag flag{
            spec.name,
            make_setting(spec, backend, has_value ? pair.substr(equals + 1) : std::string()),
            !has_value};
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
  app.set_version_flag("-V,--version", version_text());
  app.add_option("-c,--config", out.config_files)->allow_extra_args(false);
  for (size_t i = 0; i < out.flags.size(); ++i) {
    const FlagSpec& spec = out.flags[i];
    if (spec.shape == FlagShape::yes || spec.shape == FlagShape::no) {
      app.add_flag(spec.name, out.values[i]);
      continue;
    }
    app.add_option(spec.name, out.values[i])->allow_extra_args(false);
  }
  // Options may stand behind the word too: `stdgate check --min 2 -- COMMAND`.
  CLI::App* const check = app.add_subcommand(std::string(kCheck))->fallthrough();
  check->add_option("--as", out.of_check.as);
  check->add_option("--backend", out.of_check.only);
  check->add_option("--against", out.of_check.against);
  check->add_flag("--json", out.of_check.as_json);
  for (const std::string_view word : {kDemoServer, kVersion, kHelp}) {
    app.add_subcommand(std::string(word));
  }
  app.add_subcommand(std::string(kConfig))->prefix_command();
  for (const std::string_view word : {kHashKey, kAudit}) {
    app.add_subcommand(std::string(word))->prefix_command();
  }
  app.require_subcommand(0, 1);
}

// Of the word that was found, else of all.
std::string help_for(const CLI::App& app, const Arguments& arguments) {
  const auto words = app.get_subcommands();
  return words.empty() ? help_text(arguments.flags, arguments.words)
                       : std::string(word_help(words.front()->get_name()));
}

// `--help` anywhere behind a word: CLI11 takes none behind what a word is about.
std::optional<CommandLine> explain_word(const std::vector<std::string>& ours) {
  const std::string_view help = ours.empty() ? std::string_view() : word_help(ours.front());
  const auto asks = [](const std::string& word) { return word == "--help" || word == "-h"; };
  if (help.empty() || std::ranges::none_of(ours, asks)) return std::nullopt;
  return exit_with_text(std::string(help));
}

// Neither may be empty: that would ask another question.
std::string empty_value_of(const CLI::App& check) {
  for (const std::string name : {"--as", "--backend", "--against"}) {
    const CLI::Option& option = *check.get_option(name);
    if (option.count() > 0 && option.as<std::string>().empty()) return name;
  }
  return {};
}

// The result if the program has to end at once (help, version, an error); nothing when `app` has
// been filled in.
std::optional<CommandLine> run_parser(CLI::App& app, const Arguments& arguments,
                                      const std::vector<std::string>& ours) {
  try {
    app.parse(std::vector<std::string>(ours.rbegin(), ours.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return exit_with_text(help_for(app, arguments));
  } catch (const CLI::CallForVersion&) {
    return exit_with_text(version_text());
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

bool is_flag_name(const std::vector<FlagSpec>& flags, const std::string& text) {
  return std::any_of(flags.begin(), flags.end(),
                     [&](const FlagSpec& spec) { return text == spec.name; });
}

// The mistake in the use of a flag; empty: none.
std::string misuse(const std::vector<FlagSpec>& flags, const FlagSpec& spec,
                   const std::vector<std::string>& values, bool with_command) {
  const std::string& name = spec.name;
  if (spec.scope == FlagScope::backend && !with_command) {
    return name +
           " goes with a command, as in stdgate [options] -- COMMAND; with a file, set it there";
  }
  if (spec.shape == FlagShape::text && values.size() > 1) return name + " is given more than once";
  if ((spec.shape == FlagShape::yes || spec.shape == FlagShape::no) && values.back() != "true") {
    return name + " takes no value";
  }
  if (std::any_of(values.begin(), values.end(),
                  [&](const std::string& value) { return is_flag_name(flags, value); })) {
    return name + ": expected " + spec.placeholder + ", found another option";
  }
  return {};
}

// The mistake in the use of --config.
std::string misuse_of_config(const std::vector<std::string>& files, bool with_command) {
  if (files.empty()) return {};
  if (files.size() > 1) return "--config is given more than once";
  if (files.front().empty()) return "--config: expected FILE";
  if (with_command) return "either --config or a command behind --, not both";
  return {};
}

// Flags as settings, and the rules of what goes with what.
CommandLine combine(const Arguments& arguments, const std::string& working_directory,
                    CommandLine result) {
  const std::string wrong_config =
      misuse_of_config(arguments.config_files, !result.command.empty());
  if (!wrong_config.empty()) return exit_with_error(wrong_config);
  if (!arguments.config_files.empty()) result.config_file = arguments.config_files.front();
  std::string backend =
      result.command.empty() ? "" : name_from_command(result.command, working_directory);
  for (size_t i = 0; i < arguments.flags.size(); ++i) {
    const FlagSpec& spec = arguments.flags[i];
    const std::vector<std::string>& values = arguments.values[i];
    if (values.empty()) continue;
    const std::string wrong = misuse(arguments.flags, spec, values, !result.command.empty());
    if (!wrong.empty()) return exit_with_error(wrong);
    if (spec.name == kNameFlag) {
      backend = values.back();
    } else if (!append_flag(spec, values, backend, result.flags)) {
      return exit_with_error(spec.name + ": expected " + spec.placeholder);
    }
  }
  if (result.command.empty()) return result;
  result.flags.push_back({"COMMAND", {{"backends", backend, "command"}, result.command}});
  return result;
}

// `stdgate config schema` and `stdgate config reference`; nothing goes with these words.
CommandLine print_description(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"config", "schema"}) {
    return exit_with_text(config::config_schema());
  }
  if (arguments == std::vector<std::string>{"config", "reference"}) {
    return exit_with_text(config::config_reference());
  }
  return exit_with_error("expected stdgate config schema or stdgate config reference");
}

// `stdgate hash-key`, perhaps with --new.
CommandLine hash_key(const std::vector<std::string>& arguments) {
  CommandLine result;
  result.action = CommandLine::Action::hash_key;
  result.makes_key = arguments == std::vector<std::string>{"hash-key", "--new"};
  if (result.makes_key || arguments.size() == 1) return result;
  return exit_with_error(
      "expected stdgate hash-key or stdgate hash-key --new; the key is read from "
      "stdin, as arguments are seen by others");
}

CommandLine verify_audit(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3 || arguments[1] != "verify") {
    return exit_with_error("expected stdgate audit verify FILE…, the oldest file first");
  }
  CommandLine result;
  result.action = CommandLine::Action::verify_audit;
  result.audit_files.assign(arguments.begin() + 2, arguments.end());
  return result;
}

// The words that take neither options nor a command; nothing for the others.
std::optional<CommandLine> run_word(const CLI::App& app, const Arguments& arguments,
                                    const std::vector<std::string>& all) {
  if (app.got_subcommand(std::string(kConfig))) return print_description(all);
  if (app.got_subcommand(std::string(kHashKey))) return hash_key(all);
  if (app.got_subcommand(std::string(kAudit))) return verify_audit(all);
  for (const std::string_view word : {kDemoServer, kVersion, kHelp}) {
    if (!app.got_subcommand(std::string(word))) continue;
    if (all.size() != 1) {
      return exit_with_error(std::string(word) + " takes no options and no command");
    }
    if (word == kVersion) return exit_with_text(version_text());
    if (word == kHelp) return exit_with_text(help_text(arguments.flags, arguments.words));
    CommandLine result;
    result.action = CommandLine::Action::demo_server;
    return result;
  }
  return std::nullopt;
}

// Of arguments that may have an error anywhere.
config::LogFormat log_format_in(const std::vector<std::string>& arguments) {
  constexpr std::string_view kFlag = "--log-format";
  std::string_view format;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with(kFlag)) continue;
    const std::string_view rest = argument.substr(kFlag.size());
    if (rest.starts_with('=')) format = rest.substr(1);
    if (rest.empty() && i + 1 < arguments.size()) format = arguments[i + 1];
  }
  return format == "json" ? config::LogFormat::json : config::LogFormat::text;
}

// `all`: the arguments of the program; `ours`: the ones before the command.
CommandLine parse_arguments(const std::vector<std::string>& all,
                            const std::vector<std::string>& ours,
                            const std::string& working_directory,
                            std::span<const CommandWord> words) {
  const auto dashes = std::find(all.begin(), all.end(), "--");
  Arguments arguments;
  arguments.words = words;
  if (const auto misspelt = find_short_spelling(arguments.flags, ours)) {
    return exit_with_error(unknown_option_text(names_of(arguments.flags), *misspelt));
  }

  if (auto help = explain_word(ours)) return *std::move(help);

  CLI::App app;
  add_options(app, arguments);
  if (auto done = run_parser(app, arguments, ours)) return *std::move(done);
  if (auto done = run_word(app, arguments, all)) return *std::move(done);

  CommandLine result = arguments.of_check;
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty()) {
    return exit_with_error(unknown_text(arguments.flags, words, ours, unknown));
  }
  if (app.got_subcommand(std::string(kCheck))) result.action = CommandLine::Action::check;
  if (const auto name = empty_value_of(*app.get_subcommand(std::string(kCheck))); !name.empty()) {
    return exit_with_error(name + " needs a value");
  }
  if (dashes != all.end()) {
    result.command.assign(dashes + 1, all.end());
    if (result.command.empty() || result.command.front().empty()) {
      return exit_with_error("a command must follow --");
    }
  }
  return combine(arguments, working_directory, std::move(result));
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv, const std::string& working_directory,
                               std::span<const CommandWord> words) {
  const std::vector<std::string> all(argv + std::min(argc, 1), argv + argc);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  const std::vector<std::string> ours = split_empty_values(all.begin(), dashes);
  CommandLine result = parse_arguments(all, ours, working_directory, words);
  result.error_format = log_format_in(ours);
  return result;
}

}  // namespace stdgate::app
