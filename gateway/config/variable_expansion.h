// ${NAME} and ${NAME:-default} in a configuration value.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/config/config_parser.h"

namespace stdgate::config {

// The default counts when the variable is unset or empty, as in a shell; it ends at the first '}'
// and is not expanded itself. $$ is a dollar sign; a $ before anything but '{' and '$' stays.
tl::expected<std::string, std::string> expand_variables(std::string_view text,
                                                        const Environment& environment);

// The text that expands to `text`.
std::string escape_variables(std::string_view text);

}  // namespace stdgate::config
