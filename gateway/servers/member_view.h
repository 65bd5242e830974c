// The known state of a member of a virtual server: its lists (MemberView), the elements that rules
// let a client see (Sight), and whether it is up (MemberState).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/policy/client.h"
#include "gateway/policy/rules.h"
#include "gateway/servers/element_list.h"

namespace stdgate::servers {

class Part;

// One list of a view.
struct MemberList {
  enum class State : uint8_t { unknown, known, failed };

  State state = State::unknown;
  std::shared_ptr<const ElementList> elements =
      ElementList::none();  // as received last, even if a later request failed
  std::string greeting;     // the result, of ListKind::greeting
  bool is_stale = false;    // the member has changed it
  bool is_told = false;     // clients have been told of the change
  bool is_asked = false;    // the member was asked and has not answered
  bool is_missed = false;   // clients have got a list without it
  bool is_late = false;     // clients do not wait for it until it has come
  TimePoint asked{};
  TimePoint waited{};  // since when clients wait for it
  TimePoint answered{};
  TimePoint until{};  // when the member is asked again
  std::string failure;
  ElementList incoming;  // pages so far
  size_t pages = 0;
};

// MemberView: the lists of a member for clients that see the same, and the progress of the
// questions for them. Owner: Member, or the part of a session.
struct MemberView {
  Part* part = nullptr;  // whose session at the member it is of; null: it is of no session
  std::optional<policy::Principal> principal;
  std::string identity;  // of the principal
  bool is_modern = false;
  bool is_refused = false;  // the backend does not serve clients of the modern era
  TimePoint used{};
  std::array<MemberList, kListKinds> lists;
  Share held;

  MemberList& list(ListKind kind) { return lists[static_cast<size_t>(kind)]; }
};

// Sight: whether the rules of a backend, or of a virtual server, let a client see, and so use, an
// element.
class Sight {
 public:
  static Sight by(const policy::Rules& rules, const policy::Principal* principal);
  // `name`: as the rules have it.
  [[nodiscard]] bool shows(ListKind kind, std::string_view name) const;

 private:
  const policy::Rules* rules_ = nullptr;
  policy::RuleSet set_;
};

// MemberState: whether a member of a virtual server is up, why not, and when it is asked again.
//
// Job: judge by the answers to the gateway's own questions; write a line when the state changes.
// Each failure doubles the time until the member is asked again, as its server may have to be
// started for it. Owner: the member.
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
  // The member is late, or its backend does not exist. No pause follows.
  void note_absence(const std::string& cause) { set(false, cause); }
  // The member is starting, and lists are made without it. Logged once.
  void note_start();

  // Whether the last answer shows the member up; false before the first one.
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
