// What a backend may be called: its name is a path's first part, a metric label and a log value.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate {

// The error says what is wrong.
tl::expected<void, std::string> check_backend_name(std::string_view name);

}  // namespace stdgate
