// ChildLog: the lines of the log about one child, and about what it has written. All name the
// child, and the session and the client that have it.
//
// Owner: the child. Limits: kMaxBadLinesPerSecond lines about its output, of which the first
// kMaxShown bytes are shown, without known secrets; of a message only the first kMaxShownMessage,
// as payloads are not for this log.
#pragma once

#include <cstddef>
#include <string_view>

#include "gateway/base/rate_limit.h"
#include "gateway/pool/child_end.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

// Output that is no use to anybody.
struct DroppedOutput {
  DropReason reason = DropReason::not_json;
  std::string_view why;
  std::string_view text;  // as it came, or its beginning
  std::string_view id{};  // raw; empty: it has none
  size_t size = 0;        // of all of it
};

class ChildLog {
 public:
  static constexpr uint32_t kMaxBadLinesPerSecond = 10;
  static constexpr size_t kMaxShown = 256;
  static constexpr size_t kMaxShownMessage = 96;

  // `name` outlives it.
  ChildLog(const PoolServices& services, const ChildName& name)
      : services_(services), name_(name), bad_lines_(kMaxBadLinesPerSecond) {}

  // From now on nothing is said of output that is dropped: the child has been asked to go.
  void mute() { muted_ = true; }
  [[nodiscard]] bool is_muted() const { return muted_; }

  void started() const;
  // A session has it to itself from now on.
  void served() const;
  void ended(const ChildEnd& end, bool is_fine, bool never_served) const;
  // A message has come because of a call that was given up, perhaps; there are so many.
  void withheld(size_t abandoned) const;
  // Its output looks like another framing than the configured one.
  void does_not_fit(std::string_view hint) const;
  void dropped(const DroppedOutput& output);
  // The answer to a call that was given up.
  void late_answer(std::string_view id, CancelReason why) const;

 private:
  [[nodiscard]] std::string shown(const DroppedOutput& output) const;

  const PoolServices& services_;
  const ChildName& name_;
  RateLimit bad_lines_;
  bool muted_ = false;
};

}  // namespace stdgate::pool
