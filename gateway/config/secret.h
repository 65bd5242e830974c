// What must not be shown when a configuration is printed.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::config {

inline constexpr std::string_view kHidden = "***hidden***";

// Whether the name of a variable, or its value, looks like a secret's.
bool looks_secret(std::string_view name, std::string_view value);

// The same, or whether it has a password in it, as a URL may.
bool holds_secret(std::string_view name, std::string_view value);

// `value`, or kHidden when the variable's name or its value looks like a secret.
std::string hide_secret_variable(std::string_view name, std::string_view value);

// `text` with kHidden instead of each of `parts`, the longest that fits first.
std::string hide_parts(std::string_view text, const std::set<std::string>& parts);

// A command without what looks secret in it: NAME=VALUE, "Name: value" and ?name=value with the
// name of a secret, the argument behind --name, a word that begins as well-known keys do,
// passwords.
std::vector<std::string> hide_secret_arguments(const std::vector<std::string>& command);

// `text` with the password of each user:password@ replaced.
std::string hide_passwords(std::string_view text);

}  // namespace stdgate::config
