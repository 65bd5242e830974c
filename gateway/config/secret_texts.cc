#include "gateway/config/secret_texts.h"

#include <algorithm>

#include "gateway/config/secret.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::config {

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
