// FakeSeal: seals that only a test can tell apart: a text stands for what was sealed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "gateway/session/state_seal.h"

namespace stdgate::test {

class FakeSeal final : public session::StateSeal {
 public:
  std::string seal(std::string_view plain, std::string_view context) override {
    const std::string sealed = "state-" + std::to_string(sealed_.size() + 1);
    sealed_[sealed] = std::pair(std::string(plain), std::string(context));
    return sealed;
  }
  std::optional<std::string> open(std::string_view sealed, std::string_view context) override {
    const auto found = sealed_.find(std::string(sealed));
    if (found == sealed_.end() || found->second.second != context) return std::nullopt;
    return found->second.first;
  }

 private:
  std::map<std::string, std::pair<std::string, std::string>> sealed_;
};

}  // namespace stdgate::test
