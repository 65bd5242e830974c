// TOML as JSON: what settings of clients use of TOML 1.0 (tables, dotted and quoted keys, arrays,
// inline tables, all kinds of strings). Numbers, dates and the like become the texts that they are
// written as. Pure. Limit: kMaxDepth of nesting.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate::tools {

inline constexpr size_t kMaxTomlDepth = 32;

// The error names the line.
tl::expected<std::string, std::string> toml_as_json(std::string_view text);

}  // namespace stdgate::tools
