#include "tests/sim/sim_kept.h"

#include <gtest/gtest.h>

namespace stdgate::sim {

void SimKept::note_given(const std::string& nonce, Answer answer) {
  answer.order = ++order_;
  answers_[nonce] = std::move(answer);
}

void SimKept::note_change(std::string_view notification) {
  constexpr std::string_view kHead = "notifications/";
  constexpr std::string_view kTail = "_changed";
  if (!notification.starts_with(kHead) || !notification.ends_with("/list_changed")) return;
  notification.remove_prefix(kHead.size());
  notification.remove_suffix(kTail.size());
  changed_[std::string(notification)] = ++order_;
}

void SimKept::check_hit(const std::string& nonce, std::string_view method, SimPrincipal principal,
                        uint64_t ttl_ms) const {
  const auto found = answers_.find(nonce);
  ASSERT_NE(found, answers_.end()) << "the answer of another request, which nobody may keep";
  const Answer& answer = found->second;
  EXPECT_EQ(answer.method, method);
  EXPECT_TRUE(answer.is_public || (principal != 0 && principal == answer.principal))
      << "what is private is shown to another one";
  EXPECT_GT(ttl_ms, 0U);
  EXPECT_LE(world_.now() + std::chrono::milliseconds(ttl_ms), answer.until);
  EXPECT_GT(answer.order, exited_) << "kept though a child has ended since";
  const auto changed = changed_.find(method);
  EXPECT_TRUE(changed == changed_.end() || answer.order > changed->second)
      << "kept though its list has changed since";
  world_.tally().note(answer.is_public ? Seen::cache_hit : Seen::cache_hit_private);
}

void SimKept::check_remembered(const std::string& nonce, std::string_view method) const {
  const auto found = answers_.find(nonce);
  if (found != answers_.end()) {
    EXPECT_EQ(found->second.method, method);
  }
}

}  // namespace stdgate::sim
