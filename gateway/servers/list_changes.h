// ListChanges: tells clients that lists have changed, and has members that are down asked again.
//
// A member that changes its lists all the time makes no client list more often than once in kQuiet:
// later changes wait, and are told together. So the last one is never lost. Owner: the aggregate.
// Members are asked, and listened to, only while a client would hear of changes. Limits: an entry
// for each member and audience, which ends when nothing has changed for kQuiet.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "gateway/base/time.h"
#include "gateway/servers/listening.h"
#include "gateway/servers/virtual_sessions.h"

namespace stdgate::servers {

class ListChanges {
 public:
  // Changes are told together, so long after the first one.
  static constexpr Duration kGather = std::chrono::milliseconds(50);
  // How long the same clients are not told again of changes of the same member.
  static constexpr Duration kQuiet = std::chrono::seconds(1);

  ListChanges(Members& members, VirtualSessions& sessions, Listening& listening, Presence& clients,
              const Clock& clock, TimerQueue& timers)
      : members_(members),
        sessions_(sessions),
        listening_(listening),
        clients_(clients),
        clock_(clock),
        tell_timer_(timers, [this] { tell(); }),
        retry_timer_(timers, [this] { retry(); }) {}

  // `member`: whose lists; null: the server itself is another one. `lists`: bits of mcp::kMcpLists.
  void gather(const Member* member, const Audience& audience, uint8_t lists);
  // Clients have come, or gone.
  void note_clients();
  // A list may have been made without a member.
  void arm_retry();
  // Members are not asked again from now on.
  void stop();

 private:
  // Changes of a member's lists, for an audience.
  struct Pace {
    uint8_t lists = 0;  // changed, and not told; none: it is quiet
    TimePoint due{};    // when they are told; of a quiet one: when it is forgotten
  };

  void tell();
  void retry();

  Members& members_;
  VirtualSessions& sessions_;
  Listening& listening_;
  Presence& clients_;
  const Clock& clock_;
  std::map<std::pair<const Member*, Audience>, Pace> paces_;
  bool is_stopped_ = false;
  Timer tell_timer_;
  Timer retry_timer_;
};

}  // namespace stdgate::servers
