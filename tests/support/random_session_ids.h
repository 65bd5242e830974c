// RandomSessionIds: ids that say nothing, so a session ends with the process that opened it.
#pragma once

#include <functional>
#include <utility>

#include "gateway/session/sealed_texts.h"

namespace stdgate::test {

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
