#include "gateway/servers/member_view.h"

#include <algorithm>
#include <utility>

#include "gateway/policy/rules.h"

namespace stdgate::servers {

Sight Sight::by(const policy::Rules& rules, const policy::Principal* principal) {
  Sight sight;
  if (!rules.any()) return sight;
  sight.rules_ = &rules;
  sight.set_ = rules.rules_of(principal);
  return sight;
}

bool Sight::shows(ListKind kind, std::string_view own) const {
  if (rules_ == nullptr) return true;
  const call::ListShape& shape = shape_of(kind);
  const bool is_plain = shape.kind == policy::ElementKind::resource ? policy::is_plain_uri(own)
                                                                    : policy::is_plain_name(own);
  if (!rules_->takes_method(shape.use)) return false;
  return rules_->shows(set_, {shape.use, shape.kind, own, is_plain});
}

void MemberState::begin() {
  is_down_ = has_told_start_ = false;
  retry_wait_ = {};
  retry_due_ = {};
}

void MemberState::note_answer() {
  retry_wait_ = {};
  retry_due_ = {};
  set(true, {});
}

// Questions for several lists fail together.
void MemberState::note_failure(const std::string& cause) {
  if (clock_.now() >= retry_due_) {
    retry_wait_ = std::clamp(2 * retry_wait_, kRetry, kMaxRetry);
    retry_due_ = clock_.now() + retry_wait_;
  }
  set(false, cause);
}

void MemberState::note_start() {
  if (std::exchange(has_told_start_, true)) return;
  log_.write(LogLevel::info, "lists do without a member that is starting",
             {{"server", server_}, {"backend", member_}});
}

void MemberState::set(bool is_up, const std::string& cause) {
  failure_ = cause;
  is_down_ = !is_up;
  const bool was_down = is_up_.has_value() && !*is_up_;
  if (is_up_ == is_up) return;
  is_up_ = is_up;
  if (is_up && !was_down) return;  // the first time
  if (is_up) {
    log_.write(LogLevel::info, "member is back", {{"server", server_}, {"backend", member_}});
  } else {
    log_.write(LogLevel::warn, "member is down",
               {{"server", server_}, {"backend", member_}, {"cause", failure_}});
  }
}

}  // namespace stdgate::servers
