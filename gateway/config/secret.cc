#include "gateway/config/secret.h"

#include <algorithm>
#include <array>

#include "gateway/rpc/json_text.h"

namespace stdgate::config {

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

// Size of what `value` begins with as well-known secrets do, 0 when it does not.
size_t secret_start(std::string_view value) {
  const auto start =
      std::find_if(kSecretValueStarts.begin(), kSecretValueStarts.end(),
                   [&](std::string_view candidate) { return value.starts_with(candidate); });
  return start == kSecretValueStarts.end() ? 0 : start->size();
}

bool is_secret_value(std::string_view value) { return secret_start(value) > 0; }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// The name that ends in front of `at`; it may stand in quotes.
std::string_view name_before(std::string_view text, size_t at) {
  if (at > 0 && (text[at - 1] == '"' || text[at - 1] == '\'')) --at;
  size_t begin = at;
  while (begin > 0 && is_name_character(text[begin - 1])) --begin;
  return text.substr(begin, at - begin);
}

// Where a word or a parameter ends that goes on at `at`.
size_t end_of_word(std::string_view text, size_t at) {
  return std::min(text.find_first_of(" \t\r\n&;,\"'", at), text.size());
}

struct Stretch {
  size_t begin = 0;
  size_t end = 0;  // == begin: none
};

// The secret that begins at `at`, or behind the name that ends there. A header's value, a quoted
// one and a private key go on to the end.
Stretch secret_at(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  const bool is_word = at == 0 || !is_name_character(text[at - 1]);
  if (const size_t start = is_word ? secret_start(rest) : 0; start > 0) {
    return {at, rest.starts_with('-') ? text.size() : end_of_word(text, at + start)};
  }
  const bool separates = rest.front() == '=' || (rest.front() == ':' && !rest.starts_with("://"));
  if (!separates || !is_secret_name(name_before(text, at))) return {};
  const size_t begin = std::min(text.find_first_not_of(' ', at + 1), text.size());
  if (text.substr(begin).starts_with(kHidden)) return {};
  const bool is_quoted = text.substr(begin, 1) == "\"" || text.substr(begin, 1) == "'";
  return {begin, rest.front() == ':' || is_quoted ? text.size() : end_of_word(text, begin)};
}

std::string hide_in_argument(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const Stretch secret = secret_at(text, at);
    if (secret.end == secret.begin) {
      shown += text[at++];
      continue;
    }
    shown += text.substr(at, secret.begin - at);
    shown += kHidden;
    at = secret.end;
  }
  return hide_passwords(shown);
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

bool looks_secret(std::string_view name, std::string_view value) {
  return !value.empty() && (is_secret_name(name) || is_secret_value(value));
}

bool holds_secret(std::string_view name, std::string_view value) {
  return looks_secret(name, value) || hide_passwords(value) != value;
}

std::string hide_secret_variable(std::string_view name, std::string_view value) {
  return looks_secret(name, value) ? std::string(kHidden) : hide_passwords(value);
}

std::string hide_parts(std::string_view text, const std::set<std::string>& parts) {
  std::string shown;
  while (!text.empty()) {
    size_t longest = 0;
    for (const std::string& part : parts) {
      if (text.starts_with(part)) longest = std::max(longest, part.size());
    }
    if (longest > 0) {
      shown += kHidden;
    } else {
      shown += text.front();
    }
    text.remove_prefix(std::max<size_t>(longest, 1));
  }
  return shown;
}

std::vector<std::string> hide_secret_arguments(const std::vector<std::string>& command) {
  std::vector<std::string> shown;
  bool is_secret_next = false;
  for (const std::string& argument : command) {
    const bool is_option = argument.starts_with('-');
    shown.push_back(is_secret_next && !is_option && !argument.empty() ? std::string(kHidden)
                                                                      : hide_in_argument(argument));
    is_secret_next =
        is_option && argument.find_first_of("=: ") == std::string::npos && is_secret_name(argument);
  }
  return shown;
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

SecretTexts::SecretTexts(const Config& config, const BackendConfig& backend,
                         const std::map<std::string, std::string>& environment) {
  for (const auto& [text, parts] : config.secrets) {
    for (const std::string& part : parts) add(part);
  }
  for (const auto& [name, value] : environment) {
    const auto source = backend.env_sources.find(name);
    const bool is_of_file = source != backend.env_sources.end() && source->second.is_file;
    if (is_of_file || (backend.env_from_files.contains(name) && !backend.env.contains(name))) {
      add(value);
    }
    add_difference(value, hide_secret_variable(name, value));
  }
  add_command(config, backend.command);
}

void SecretTexts::add_command(const Config& config, const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const auto parts = config.secrets.find(word);
    command_.push_back(parts == config.secrets.end() ? word : hide_parts(word, parts->second));
  }
  command_ = hide_secret_arguments(command_);
  for (size_t i = 0; i < command.size(); ++i) add_difference(command[i], command_[i]);
}

// The part of `text` that `shown` does not show.
void SecretTexts::add_difference(std::string_view text, std::string_view shown) {
  const size_t begin = shown.find(kHidden);
  if (begin == std::string_view::npos || text == shown) return;
  const size_t behind = shown.size() - (shown.rfind(kHidden) + kHidden.size());
  if (begin + behind >= text.size()) return;
  const size_t size = text.size() - begin - behind;
  add(text.substr(begin, size));
  if (begin == 0 || behind == 0) return;
  const std::string_view around = text.substr(begin - 1, size + 2);
  std::string hidden(1, around.front());
  hidden.append(kHidden) += around.back();
  shown_.emplace(around, hidden);
}

// A text of several lines comes back line by line, and in JSON it is escaped.
void SecretTexts::add(std::string_view secret) {
  while (!secret.empty()) {
    const size_t end = std::min(secret.find('\n'), secret.size());
    const std::string_view line = secret.substr(0, end);
    if (line.size() >= kMinSize) {
      shown_.emplace(line, kHidden);
      std::string escaped;
      rpc::append_json_string(escaped, line);
      shown_.emplace(escaped.substr(1, escaped.size() - 2), kHidden);
    }
    secret.remove_prefix(std::min(end + 1, secret.size()));
  }
}

std::string SecretTexts::hide(std::string_view text) const {
  std::string out;
  while (!text.empty()) {
    std::string_view longest;
    std::string_view instead;
    for (const auto& [secret, shown] : shown_) {
      const bool is_cut = text.size() >= kMinSize && secret.starts_with(text);
      if (secret.size() <= longest.size() || !(is_cut || text.starts_with(secret))) continue;
      longest = is_cut ? text : std::string_view(secret);
      instead = shown;
    }
    out += longest.empty() ? text.substr(0, 1) : instead;
    text.remove_prefix(std::max<size_t>(longest.size(), 1));
  }
  return out;
}

}  // namespace stdgate::config
