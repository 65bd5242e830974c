// JSON for people: the same text, one member a line.
#pragma once

#include <string>
#include <string_view>

namespace stdgate::tools {

// `json` is valid. Strings and numbers stay as they are spelled, so that nothing is rounded;
// control characters that a terminal could mind are escaped already, as JSON has none, but others
// are made visible.
std::string laid_out(std::string_view json);

}  // namespace stdgate::tools
