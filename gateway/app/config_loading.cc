// Loads the configuration that a command line asks for: its file, the settings over it, and the
// errors of both in the words of the command line.
#include <filesystem>
#include <string_view>
#include <system_error>

#include "gateway/app/command_flags.h"
#include "gateway/app/command_line.h"
#include "gateway/base/encodings.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_parser.h"
#include "gateway/config/config_ranges.h"

namespace stdgate::app {
namespace {

constexpr std::string_view kDefaultFile = "gateway.yaml";

std::string join(const std::vector<std::string>& path) {
  std::string joined;
  for (const std::string& key : path) joined += (joined.empty() ? "" : ".") + key;
  return joined;
}

std::string flag_error(const std::string& name, const config::ConfigError& error) {
  return "stdgate: " + name + ": " + visible(error.message, VisibleText::line) + "\n";
}

// The flag that gives what is at `path`, or what it is within; empty: none does.
std::string flag_of(const std::string& path, const CommandLine& command_line) {
  const std::string key = path.substr(0, path.find('['));
  for (const CommandLine::Flag& flag : command_line.flags) {
    std::vector<std::string> flag_path = flag.setting.path;
    if (join(flag_path) == key) return flag.name;
    flag_path.pop_back();
    if (flag_path.size() == 2 && join(flag_path) == key) return kNameFlag;  // the backend itself
  }
  return {};
}

// One error as a line: by its place in the file, by its flag, else by its path.
std::string describe(const config::ConfigError& error, const std::string& file,
                     const CommandLine& command_line) {
  if (error.line > 0) return error.to_string(file) + "\n";
  const std::string flag = flag_of(error.path, command_line);
  if (!flag.empty()) return flag_error(flag, error);
  return error.to_string(file.empty() ? "stdgate" : file) + "\n";
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

// The settings of the flags, with values of the environment where the flags ask for them.
tl::expected<std::vector<config::Setting>, std::string> settings_of(
    const CommandLine& command_line, const config::Environment& environment) {
  std::vector<config::Setting> settings;
  std::string errors;
  for (const CommandLine::Flag& flag : command_line.flags) {
    config::Setting setting = flag.setting;
    if (flag.from_environment) {
      const std::string& name = setting.path.back();
      const std::string spelled = visible(name, VisibleText::line);
      if (auto value = environment(name)) {
        setting.value = *std::move(value);
      } else {
        const std::string given = flag.name + " " + spelled;
        errors.append("stdgate: ").append(given).append(": environment variable '").append(spelled);
        errors.append("' is not set; set it, or write ").append(given).append("=VALUE\n");
      }
    }
    settings.push_back(std::move(setting));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return settings;
}

// An error with the path of the key that it is about.
struct LoadError {
  std::string path;
  std::string line;  // with its newline
};
using LoadErrors = std::vector<LoadError>;

tl::expected<config::Config, LoadErrors> read_config(const CommandLine& command_line,
                                                     const config::Environment& environment,
                                                     std::vector<std::string>* files,
                                                     const std::string& only = {}) {
  const config::FileReader read_file = [files](const std::string& name, size_t limit) {
    if (files != nullptr) files->push_back(name);
    return config::read_text_file(name, limit);
  };
  const auto file = choose_file(command_line);
  if (!file) return tl::unexpected(LoadErrors{{LoadError{{}, file.error()}}});
  std::string yaml;
  if (!file->empty()) {
    auto text = read_file(*file, config::kMaxConfigFile);
    if (!text) {
      std::string line = "stdgate: " + visible(text.error(), VisibleText::line) + "\n";
      return tl::unexpected(LoadErrors{{LoadError{{}, std::move(line)}}});
    }
    yaml = *std::move(text);
  }
  const auto settings = settings_of(command_line, environment);
  if (!settings) return tl::unexpected(LoadErrors{{LoadError{{}, settings.error()}}});
  auto config = config::parse_config(yaml, environment, *settings, read_file, only);
  if (config) return *std::move(config);
  LoadErrors errors;
  for (const config::ConfigError& error : config.error()) {
    errors.push_back({error.path, describe(error, *file, command_line)});
  }
  return tl::unexpected(std::move(errors));
}

std::string lines_of(const LoadErrors& errors) {
  std::string lines;
  for (const LoadError& error : errors) lines += error.line;
  return lines;
}

}  // namespace

std::string config_file_of(const CommandLine& command_line) {
  return choose_file(command_line).value_or(std::string());
}

config::LogFormat wanted_log_format(const CommandLine& command_line) {
  const auto file = choose_file(command_line);
  tl::expected<std::string, std::string> yaml = std::string();
  if (file && !file->empty()) yaml = config::read_text_file(*file, config::kMaxConfigFile);
  std::vector<config::Setting> settings;
  settings.reserve(command_line.flags.size());
  for (const CommandLine::Flag& flag : command_line.flags) settings.push_back(flag.setting);
  return config::log_format_hint(yaml.value_or(std::string()), settings);
}

tl::expected<config::Config, std::string> load_config(const CommandLine& command_line,
                                                      const config::Environment& environment,
                                                      std::vector<std::string>* files) {
  auto config = read_config(command_line, environment, files);
  if (config) return *std::move(config);
  return tl::unexpected(lines_of(config.error()));
}

tl::expected<config::Config, std::string> load_config_of(const CommandLine& command_line,
                                                         const config::Environment& environment,
                                                         const std::string& backend) {
  auto config = read_config(command_line, environment, nullptr, backend);
  if (config) return *std::move(config);
  const std::string path = "backends." + backend;
  LoadErrors own = config.error();
  std::erase_if(own, [&path](const LoadError& error) {
    return error.path != path && !error.path.starts_with(path + ".");
  });
  if (!own.empty()) return tl::unexpected(lines_of(own));
  const config::Environment lenient = [&environment](const std::string& name) {
    return std::optional(environment(name).value_or("not-set"));
  };
  config = read_config(command_line, lenient, nullptr, backend);
  if (config) return *std::move(config);
  return tl::unexpected(lines_of(config.error()));
}

std::vector<std::string> lines_of(const CommandLine& command_line,
                                  std::vector<config::ConfigError> findings) {
  const std::string file = choose_file(command_line).value_or(std::string());
  if (!file.empty()) {
    const auto yaml = config::read_text_file(file, config::kMaxConfigFile);
    if (yaml) config::place_errors(*yaml, findings);
  }
  std::vector<std::string> lines;
  lines.reserve(findings.size());
  for (config::ConfigError& finding : findings) {
    // The file may say something else there.
    if (!flag_of(finding.path, command_line).empty()) finding.line = 0;
    lines.push_back(describe(finding, file, command_line));
  }
  return lines;
}

CheckReport check_config(const CommandLine& command_line, const config::Environment& environment) {
  const auto config = load_config(command_line, environment);
  if (!config) return {kUsageError, config.error()};
  const auto counted = [](size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  std::string ok = "# ok: " + counted(config->backends.size(), "backend");
  if (!config->servers.empty()) ok += ", " + counted(config->servers.size(), "server");
  return {0, config::print_config(*config) + ok + "\n"};
}

}  // namespace stdgate::app
