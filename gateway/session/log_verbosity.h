// LogVerbosity: the log level that shared children are set to, and which session receives which
// of their log messages.
// A child has one level for all sessions. So the child is set to the lowest level that any session
// wants, and each message is compared with the receiving session's level. A session without a level
// receives the child's default; once a child has been set to a level, its default counts as
// kDefault. Calls of clients without a session have wishes too; the owner compares their messages.
// Bookkeeping only, like Subscriptions. Owner: the session router. Limit: one entry for each child
// that was told.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace stdgate::session {

// RFC 5424, section 6.2.1, least severe first.
enum class Severity : uint8_t { debug, info, notice, warning, error, critical, alert, emergency };
inline constexpr size_t kSeverityCount = static_cast<size_t>(Severity::emergency) + 1;
std::string_view severity_name(Severity severity);
std::optional<Severity> parse_severity(std::string_view name);

class LogVerbosity {
 public:
  static constexpr Severity kDefault = Severity::info;

  // A session begins or ends with this level (`wish`; nothing: none set). A change is an end and a
  // beginning.
  void add_session(std::optional<Severity> wish);
  void remove_session(std::optional<Severity> wish);

  // A call without a session wants messages from this level on. Later calls keep the level, so that
  // children are not told with each call. False: nothing changes.
  bool note_call(Severity wish);

  // Whether no child needs another level.
  [[nodiscard]] bool settled() const { return told_.empty() && explicit_ == 0 && !of_calls_; }
  // The level that the caller has to set at the child now. Nothing: the child has it already.
  // `serves_calls`: whether wishes of calls count for this child.
  std::optional<Severity> take(uint64_t child, bool serves_calls);
  void lose_child(uint64_t child) { told_.erase(child); }

  [[nodiscard]] size_t sessions() const { return explicit_ + silent_; }
  [[nodiscard]] size_t sessions_with_wish() const { return explicit_; }
  // Whether a message of the child is meant for a session with this wish.
  [[nodiscard]] bool passes(uint64_t child, std::optional<Severity> wish, Severity message) const;

 private:
  [[nodiscard]] Severity wanted(bool by_calls) const;

  std::array<size_t, kSeverityCount> wishes_{};
  size_t explicit_ = 0;               // sessions in `wishes_`
  size_t silent_ = 0;                 // sessions without a level
  std::optional<Severity> of_calls_;  // the lowest level that calls want
  std::map<uint64_t, Severity> told_;
};

}  // namespace stdgate::session
