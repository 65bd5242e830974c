// What must not be shown when a configuration is printed.
#pragma once

#include <string>
#include <string_view>

namespace stdgate {

inline constexpr std::string_view kHidden = "***hidden***";

// `value`, or kHidden when the variable's name or its value looks like a secret.
std::string hide_secret_variable(std::string_view name, std::string_view value);

// `text` with the password of each user:password@ replaced.
std::string hide_passwords(std::string_view text);

}  // namespace stdgate
