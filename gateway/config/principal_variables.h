// Variables of a child's environment that name the principal whose child it is:
//   ${principal}         its name
//   ${principal_source}  who says so: api_key, certificate, signature, or a token's issuer without
//                        "https://"
// beside ${NAME} and ${NAME:-default}, which are those of the gateway. In the path of a file every
// byte of the two but letters, digits, and . _ - @ is written as %XX, so that a name stays within
// its folder and no two principals have the same file; so is a '.' at the beginning.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::config {

struct PrincipalNames {
  std::string name;
  std::string source;
};

// What a principal of this issuer of tokens has as its source.
std::string_view source_of_issuer(std::string_view issuer);

// Whether `text` names the principal, and by which of the two variables.
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

// What a file holds for one variable: its content without a line feed at its end.
tl::expected<std::string, std::string> read_variable_file(const std::string& file,
                                                          const FileReader& read_file);

}  // namespace stdgate::config
