// SecretTexts: what a backend's configuration and environment hold that no report may show.
//
// Job: hides it in texts that come from the backend's processes or are made of its configuration.
// Owner: a tool, or a backend of the gateway. Limits: what is shorter than kMinSize is hidden only
// where what stands around it in the configuration stands there too, as short texts are part of too
// many others.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::config {

class SecretTexts {
 public:
  static constexpr size_t kMinSize = 4;

  // `environment`: that of the backend's processes.
  SecretTexts(const Config& config, const BackendConfig& backend,
              const std::map<std::string, std::string>& environment);

  // Also a secret of which the text, being cut, has only the beginning.
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
