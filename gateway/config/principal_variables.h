// Variables in texts of the configuration: of the environment, and of the principal of a child.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::config {

// ${NAME} and ${NAME:-default} in a configuration value.

// The default counts when the variable is unset or empty, as in a shell. It ends at the first '}'
// and is not expanded itself. $$ is a dollar sign; a $ stays before all characters except '{' and
// '$'.
tl::expected<std::string, std::string> expand_variables(std::string_view text,
                                                        const Environment& environment);

// The text that expands to `text`.
std::string escape_variables(std::string_view text);

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
