// ChildLog: log lines about one child and its output. Each line names the child, and the session
// and the client that have it.
//
// Owner: the child. Limits: kMaxBadLinesPerSecond lines about its output. A line shows the first
// kMaxShown bytes, without known secrets, but only the first kMaxShownMessage bytes of a message,
// because payloads are not for this log.
#pragma once

#include <cstddef>
#include <string_view>

#include "gateway/base/log.h"
#include "gateway/pool/child_facts.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

// Output that is dropped.
struct DroppedOutput {
  DropReason reason = DropReason::not_json;
  std::string_view why;
  std::string_view text;  // as it came, or its beginning
  std::string_view id{};  // raw; empty: the message has none
  size_t size = 0;        // of the whole output
};

class ChildLog {
 public:
  static constexpr uint32_t kMaxBadLinesPerSecond = 10;
  static constexpr size_t kMaxShown = 256;
  static constexpr size_t kMaxShownMessage = 96;

  // `name` outlives it.
  ChildLog(const PoolServices& services, const ChildName& name)
      : services_(services), name_(name), bad_lines_(kMaxBadLinesPerSecond) {}

  // Stops log lines about dropped output, once the child has been asked to go.
  void mute() { muted_ = true; }
  [[nodiscard]] bool is_muted() const { return muted_; }

  void started() const;
  // A session has the child alone from now on.
  void served() const;
  void ended(const ChildEnd& end, bool is_fine, bool never_served) const;
  // A message was withheld, because one of `abandoned` given-up calls may have caused it.
  void withheld(size_t abandoned) const;
  // The output of the child looks like another framing than the configured one.
  void does_not_fit(std::string_view hint) const;
  void dropped(const DroppedOutput& output);
  // The child is ended, and another one greeted otherwise.
  void begun_anew() const;
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
