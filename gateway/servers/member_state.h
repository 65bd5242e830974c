// MemberState: whether a member of a virtual server is up, why not, and when it is asked again.
//
// Job: judge by the answers to the gateway's own questions; write a line when the state changes.
// Each failure doubles the time until the member is asked again, as its server may have to be
// started for it. Owner: the member.
#pragma once

#include <optional>
#include <string>

#include "gateway/base/log.h"
#include "gateway/base/time.h"

namespace stdgate::servers {

class MemberState {
 public:
  // Pause before a member that is down is asked again though no client asks; doubled each time.
  static constexpr Duration kRetry = std::chrono::seconds(5);
  static constexpr Duration kMaxRetry = std::chrono::minutes(10);

  // `server`, `member`: their names, which outlive it.
  MemberState(const Clock& clock, Log& log, const std::string& server, const std::string& member)
      : clock_(clock), log_(log), server_(server), member_(member) {}

  // The member has another backend from now on.
  void begin();
  void note_answer();
  void note_failure(const std::string& cause);
  // Not worth a pause: it is late, or there is no such backend.
  void note_absence(const std::string& cause) { set(false, cause); }
  // Lists do without it until it has started. Told once.
  void note_start();

  // By its last answer; false before the first one.
  [[nodiscard]] bool is_up() const { return is_up_.value_or(false); }
  // The last question to the present backend has failed.
  [[nodiscard]] bool is_down() const { return is_down_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] TimePoint retry_due() const { return retry_due_; }

 private:
  void set(bool is_up, const std::string& cause);

  const Clock& clock_;
  Log& log_;
  const std::string& server_;
  const std::string& member_;
  std::optional<bool> is_up_;  // nothing: not asked yet
  bool is_down_ = false;
  bool has_told_start_ = false;
  std::string failure_;
  Duration retry_wait_{};
  TimePoint retry_due_{};
};

}  // namespace stdgate::servers
