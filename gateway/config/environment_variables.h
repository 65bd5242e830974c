// Environment variables: the environment of children, and ${NAME} in texts of the configuration.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::config {

// --- The environment of children: the keys env, env_file and env_inherit of a backend

// A mistake in a file of environment variables.
struct EnvFileError {
  int line = 0;         // 1-based
  std::string message;  // without any value, as these are secrets
};

// Only the first errors of a file are reported.
inline constexpr size_t kMaxEnvFileErrors = 20;

// Parses a file of environment variables, in the syntax that docker and dotenv have in common.
//
//   # a comment, and empty lines
//   NAME=value to the end of the line   # a comment: a space before it
//   export NAME='literally $this'
//   NAME="with \n \r \t \" \\ and # in it"
//
// Each variable has one line, and nothing expands. A name has letters, digits, '_', '.' and '-',
// and begins with no digit. If a name occurs twice, the last one counts. A byte order mark, and
// carriage returns before line feeds, are skipped.
tl::expected<std::map<std::string, std::string>, std::vector<EnvFileError>> parse_env_file(
    std::string_view text);

class Value;
struct VariableSource;

// Reads one entry of env, a text or { file: … }. The value goes to `values`, unless it names the
// principal. If the entry is no plain text, its source goes to `sources`. False after an error,
// which has been recorded.
bool read_variable(const Value& entry, std::map<std::string, std::string>& values,
                   std::map<std::string, VariableSource>& sources);

// As the first entry of env_inherit: without the default list.
inline constexpr std::string_view kInheritOnly = "!";

// A text, or a list of them: paths are appended to `files`, and what the files set to `variables`,
// where a later file replaces what an earlier one sets. False after an error, which has been
// recorded.
bool read_env_files(const Value& value, size_t max_files, std::vector<std::string>& files,
                    std::map<std::string, std::string>& variables);

// Adds to `names`, the default list; from kInheritOnly on it replaces them. No name occurs twice.
// False after an error, which has been recorded.
bool read_inherited(const Value& value, std::vector<std::string>& names);

// The names in a form that read_inherited() reads back; none is added to the default list.
std::vector<std::string> inherited_entries(std::vector<std::string> names);

// --- Variables in texts of the configuration: of the environment, and of the principal of a child

// Expands ${NAME} and ${NAME:-default} in a configuration value. The default counts when the
// variable is unset or empty, as in a shell. The default ends at the first '}' and is not expanded
// itself. $$ is a dollar sign; a $ stays before all characters except '{' and '$'.
tl::expected<std::string, std::string> expand_variables(std::string_view text,
                                                        const Environment& environment);

// The text that expands to `text`.
std::string escape_variables(std::string_view text);

// The values of the two variables that name the principal of a child.
struct PrincipalNames {
  std::string name;
  std::string source;
};

// The source of principals that this issuer of tokens names.
std::string_view source_of_issuer(std::string_view issuer);

// Which of the two variables `text` uses to name the principal, if any.
struct PrincipalUse {
  bool name = false;
  bool source = false;
  [[nodiscard]] bool any() const { return name || source; }
};
PrincipalUse principal_use(std::string_view text);

// The path of `source` with the principal in it, or its text. The error is of `environment`, or
// says that the name cannot stand in an environment.
tl::expected<std::string, std::string> for_principal(const VariableSource& source,
                                                     const PrincipalNames& principal,
                                                     const Environment& environment);

// The variables of a backend that name the principal, for this one; read from their files.
tl::expected<std::map<std::string, std::string>, std::string> variables_of_principal(
    const BackendConfig& config, const PrincipalNames& principal, const Environment& environment,
    const FileReader& read_file);

// The value that a file holds for one variable: its content without a line feed at its end.
tl::expected<std::string, std::string> read_variable_file(const std::string& file,
                                                          const FileReader& read_file);

}  // namespace stdgate::config
