// ListChanges: tells clients that lists have changed, and has members that are down asked again.
//
// Owner: the aggregate. Members are asked, and listened to, only while a client would hear of
// changes.
#pragma once

#include <cstdint>

#include "gateway/base/timers.h"
#include "gateway/servers/listening.h"
#include "gateway/servers/virtual_sessions.h"

namespace stdgate::servers {

class ListChanges {
 public:
  // Changes are told together, so long after the first one.
  static constexpr Duration kGather = std::chrono::milliseconds(50);
  // How often members that are down are asked again.
  static constexpr Duration kRetry = std::chrono::seconds(5);

  ListChanges(Members& members, VirtualSessions& sessions, Listening& listening, const Clock& clock,
              TimerQueue& timers)
      : members_(members),
        sessions_(sessions),
        listening_(listening),
        clock_(clock),
        gather_timer_(timers, [this] { tell(); }),
        retry_timer_(timers, [this] { retry(); }) {}

  // Bits of mcp::kMcpLists; none: only sessions know of changes.
  void gather(uint8_t lists);
  // Clients have come, or gone.
  void note_clients();
  // A list may have been made without a member.
  void arm_retry();
  // From now on no member is asked again.
  void stop();

 private:
  void tell();
  void retry();
  [[nodiscard]] bool is_heard() const { return sessions_.size() > 0 || listening_.size() > 0; }

  Members& members_;
  VirtualSessions& sessions_;
  Listening& listening_;
  const Clock& clock_;
  uint8_t changed_ = 0;  // not told yet
  bool is_stopped_ = false;
  Timer gather_timer_;
  Timer retry_timer_;
};

}  // namespace stdgate::servers
