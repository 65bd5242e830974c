// Reading gateway.yaml, strictly and with all errors of a file at once; and what else is made of a
// configuration: YAML again, the reference page, the JSON Schema.
//
// Errors, with line, column and path, are:
//   unknown keys (with the nearest known one), duplicate keys
//   wrong types, values out of range
//   names in ${NAME} without a value
// ${NAME} and ${NAME:-default} expand in every value after the YAML has been parsed, so a variable
// cannot inject structure. $$ is a dollar sign, and so is a $ before anything else. Durations:
// 250ms, 30s, 5m, 1h; sizes: 512, 64KiB, 16MiB, 1GiB.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::config {

// A mistake in the configuration, and its place.
struct ConfigError {
  int line = 0;         // 1-based; 0 when it has no place in the file (command line)
  int column = 0;       // 1-based
  std::string path;     // "backends.everything.pool.max"
  std::string message;  // what is wrong and what to do
  // "gateway.yaml:7:12: backends.everything.pool.maxx: unknown key; did you mean 'max'?"
  [[nodiscard]] std::string to_string(std::string_view file) const;
};

// The value of an environment variable, nothing when unset. Passed in so that tests need no real
// environment.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

// The content of a file that the configuration names, at most `limit` bytes; the error says what is
// wrong with it, its name included. Passed in as the environment is; config_files.h has the real
// one.
using FileReader =
    std::function<tl::expected<std::string, std::string>(const std::string& file, size_t limit)>;

// A value from outside the file (a flag). A setting replaces the file's value at `path`. The rules
// of the file hold for it, and nothing in it expands. Its errors have line 0.
struct Setting {
  std::vector<std::string> path;  // {"backends", "demo", "pool", "max"}
  std::variant<std::string, std::vector<std::string>> value;
};

// With settings alone (`yaml` empty) this reads a command line. `only`: the name of a backend; if
// the file has it, the others and the virtual servers are not looked at. Errors are sorted by
// place.
tl::expected<Config, std::vector<ConfigError>> parse_config(
    const std::string& yaml, const Environment& environment,
    const std::vector<Setting>& settings = {}, const FileReader& read_file = nullptr,
    const std::string& only = {});

// The resolved configuration as YAML, which parse_config() reads back to the same Config, except
// for secrets, which are hidden. Secrets are values of `env` whose name or value looks like one
// (…KEY, …TOKEN, …SECRET, …PASSWORD, …), and the password of user:password@ in the command. Empty
// values are left out.
std::string print_config(const Config& config);

// Of digits and one unit; the error says what to write.
tl::expected<Duration, std::string> parse_duration(std::string_view text);
tl::expected<size_t, std::string> parse_size(std::string_view text);

// json if the settings, or else the file, say so as far as they can be read; text otherwise.
LogFormat log_format_hint(const std::string& yaml, const std::vector<Setting>& settings);

// Gives each error without a line the line of its path in `yaml`: the line of the value, or of the
// nearest present key around it. No line if the file lacks the first key of the path. For mistakes
// that show only when a value is used, after the file has been read.
void place_errors(const std::string& yaml, std::vector<ConfigError>& errors);

// The text of docs/configuration.md: every key of the configuration, in Markdown. A test compares
// it with the committed page.
std::string config_reference();

// The configuration as a JSON Schema (2020-12), for editors (yaml-language-server) and other tools.
// The schema accepts every file that parse_config() accepts. Rules across keys, and the value of a
// ${NAME}, only parse_config() can judge. A value that is not written as its type (a quoted number)
// is accepted, as by parse_config().
std::string config_schema();

}  // namespace stdgate::config
