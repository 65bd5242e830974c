// Secrets of a configuration, which must not be shown when it is printed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::config {

inline constexpr std::string_view kHidden = "***hidden***";

// Whether the name of a variable, or its value, looks like a secret's.
bool looks_secret(std::string_view name, std::string_view value);

// Also whether it has a password in it, as a URL may.
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

// SecretTexts: what a backend's configuration and environment hold that no report may show.
//
// Job: hides it in texts that come from the backend's processes or are made of its configuration.
// Owner: a tool, or a backend of the gateway. Limits: what is shorter than kMinSize is hidden only
// where what stands around it in the configuration stands there too, as short texts are part of too
// many others.
class SecretTexts {
 public:
  static constexpr size_t kMinSize = 4;

  // `environment`: the environment of the backend's processes.
  SecretTexts(const Config& config, const BackendConfig& backend,
              const std::map<std::string, std::string>& environment);

  // Also hides a secret whose beginning alone is left at the end of a text that was cut.
  [[nodiscard]] std::string hide(std::string_view text) const;
  // The backend's command, a word each.
  [[nodiscard]] const std::vector<std::string>& command() const { return command_; }

 private:
  void add_command(const Config& config, const std::vector<std::string>& command);
  void add_difference(std::string_view text, std::string_view shown);
  void add(std::string_view secret);

  std::map<std::string, std::string, std::less<>> shown_;  // instead of each
  std::vector<std::string> command_;
};

}  // namespace stdgate::config
