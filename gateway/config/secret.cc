// What must not be shown when a configuration is printed.
#include "gateway/config/secret.h"

#include <algorithm>
#include <array>

namespace stdgate {
namespace {

using namespace std::string_view_literals;

constexpr std::array kSecretNameParts{"KEY"sv,    "TOKEN"sv,      "SECRET"sv,     "PASSWORD"sv,
                                      "PASSWD"sv, "PASSPHRASE"sv, "CREDENTIAL"sv, "AUTH"sv,
                                      "COOKIE"sv, "_PWD"sv,       "_PASS"sv,      "DSN"sv};
// How well-known services begin their keys; "eyJ" begins a JSON Web Token.
constexpr std::array kSecretValueStarts{
    "sk-"sv, "sk_"sv,  "ghp_"sv, "gho_"sv, "ghs_"sv, "ghu_"sv,    "github_pat_"sv, "glpat-"sv,
    "xox"sv, "AKIA"sv, "AIza"sv, "npm_"sv, "eyJ"sv,  "Bearer "sv, "Basic "sv,      "-----BEGIN"sv};
constexpr std::string_view kTokenEnds = " \t\r\n/\"";

bool is_secret_name(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return std::any_of(kSecretNameParts.begin(), kSecretNameParts.end(),
                     [&](std::string_view part) { return upper.find(part) != std::string::npos; });
}

bool is_secret_value(std::string_view value) {
  return std::any_of(kSecretValueStarts.begin(), kSecretValueStarts.end(),
                     [&](std::string_view start) { return value.starts_with(start); });
}

// One stretch without blanks and slashes, as in "user:password@host:80".
void append_without_password(std::string& out, std::string_view token) {
  const size_t at = token.rfind('@');
  const size_t colon = at == std::string_view::npos ? at : token.substr(0, at).find(':');
  if (colon == std::string_view::npos || colon + 1 == at) {
    out += token;
    return;
  }
  out += token.substr(0, colon + 1);
  out += kHidden;
  out += token.substr(at);
}

}  // namespace

std::string hide_secret_variable(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  if (is_secret_name(name) || is_secret_value(value)) return std::string(kHidden);
  return hide_passwords(value);
}

std::string hide_passwords(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(kTokenEnds), text.size());
    append_without_password(shown, text.substr(0, end));
    const size_t next = std::min(text.find_first_not_of(kTokenEnds, end), text.size());
    shown += text.substr(end, next - end);
    text.remove_prefix(next);
  }
  return shown;
}

}  // namespace stdgate
