// FakeSeal and RandomSessionIds: what tests use in place of the real seal and the real session ids.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "gateway/session/sealed_texts.h"

namespace stdgate::test {

// FakeSeal: hands out short texts in place of sealed ones, without encryption. Named texts have a
// numbering of their own.
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
  std::string seal_named(std::string_view plain, std::string_view context) override {
    const std::pair known{std::string(plain), std::string(context)};
    const std::string next = "gate.0-" + std::to_string(named_.size() + 1);
    return named_.try_emplace(known, next).first->second;
  }
  std::optional<std::string> open_named(std::string_view sealed,
                                        std::string_view context) override {
    for (const auto& [known, text] : named_) {
      if (text == sealed && known.second == context) return known.first;
    }
    return std::nullopt;
  }

 private:
  std::map<std::string, std::pair<std::string, std::string>> sealed_;
  std::map<std::pair<std::string, std::string>, std::string> named_;
};

// RandomSessionIds: ids that carry no state, so a session ends with the process that opened it.
class RandomSessionIds final : public session::SessionIds {
 public:
  // Makes an id that cannot be guessed: 128 random bits as text.
  using NewId = std::function<std::string()>;

  explicit RandomSessionIds(NewId new_id) : new_id_(std::move(new_id)) {}

  std::string issue(const session::SessionFacts& /*facts*/) override { return new_id_(); }
  [[nodiscard]] std::optional<session::CarriedSession> open(
      std::string_view /*id*/, std::string_view /*backend*/,
      const policy::Principal* /*principal*/) override {
    return std::nullopt;
  }
  [[nodiscard]] SessionName name_of(std::string_view id) const override {
    return SessionName::of(static_cast<uint32_t>(std::hash<std::string_view>()(id)));
  }

 private:
  const NewId new_id_;
};

}  // namespace stdgate::test
