// SessionLane: the sessions with a child of their own, and their places.
//
// Job: give each session a child when it has a message, take the child from an idle session when
// its place is needed, and give a session another child when its child has gone. A session without
// a child is parked; Revival says what its next child is told. A session that has just been at work
// keeps its child for config.pool.min_hold, and sessions that want its place wait. Owner: the pool.
// Limits: Children::session_places() children at a time; config.pool.queue sessions beyond these
// when another one begins.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/pool/children.h"
#include "gateway/pool/leases.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

// PlaceShortage: how many places the sessions of a backend lack when they take turns.
//
// Sessions take turns when one comes back soon after another one has got its place. Each turn costs
// what the child has kept in memory. Writes log lines about the shortage, and remembers it for
// reports. Owner: SessionLane.
class PlaceShortage {
 public:
  // A session that comes back within this time has not been idle.
  static constexpr Duration kTurn = std::chrono::minutes(1);
  static constexpr Duration kRemembered = std::chrono::minutes(5);
  // Time between two log lines, unless more places are missing than the last line said.
  static constexpr Duration kToldEvery = std::chrono::minutes(10);

  explicit PlaceShortage(const PoolServices& services) : services_(services) {}

  // A session has come back within kTurn, while `at_work` sessions have been at work.
  void note(size_t at_work, size_t places);
  // How many more places the sessions would have needed of late.
  [[nodiscard]] size_t missing() const;

 private:
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  size_t missing_ = 0;
  TimePoint seen_{};  // when places were missing last
  size_t told_ = 0;   // missing places in the last log line
  TimePoint told_at_{};
};

// When a session gets its child.
enum class LeaseStart : uint8_t {
  at_once,
  when_needed,  // with its first message
};

class SessionLane {
 public:
  // `on_places_taken`: sessions have got places that the shared lane may have had.
  SessionLane(const PoolServices& services, ChildListener& listener, SessionEvents& session_events,
              Leases& leases, Children& children, std::function<void()> on_places_taken);

  // Promises a child to the session: a warm one, or one as soon as there is room for it. If there
  // is no room, an idle session gives way; if none is idle, the session waits as calls do. Refused
  // when too many sessions wait, or when sessions do not give way.
  tl::expected<void, rpc::FaultReport> open(session::SessionId session,
                                            LeaseStart start = LeaseStart::at_once);
  // Opens a parked session, whose child is to be told what `client` says.
  void adopt(session::SessionId session, const Knowledge& client);
  // Ends the session's child, and returns the calls that were under way.
  std::vector<call::CallPtr> close(session::SessionId session);
  // Whether this session has a child of its own, or is to get one.
  [[nodiscard]] bool has(session::SessionId session) const {
    return leases_.find(session) != nullptr;
  }
  // Sends messages that wait for the session's child, as far as the child takes them.
  void dispatch(session::SessionId session) {
    if (Lease* const lease = leases_.find(session); lease != nullptr) leases_.dispatch(*lease);
  }
  // While held, the output of the session's child is not read.
  void hold_child(session::SessionId session, bool held);
  // Ends the child of a session, if the session is idle. The next message gets the session another
  // child.
  session::Parking park(session::SessionId session);
  // Whether a message of this session needs a child that the session does not have yet.
  [[nodiscard]] bool is_parked(session::SessionId session) const;
  // The session has been greeted without a child, so it counts as a session whose child has gone.
  void begin_parked(session::SessionId session) {
    if (Lease* const lease = leases_.find(session); lease != nullptr) lease->has_begun = true;
  }
  // The client of a parked session has completed its greeting; its next child will be told. False:
  // the session is not parked, or its client has not greeted.
  bool complete_greeting(session::SessionId session);
  // Whether calls of the session are at the child with this number, its own or a shared one, or
  // wait for it.
  [[nodiscard]] bool has_calls_at(session::SessionId session, uint64_t child) const;
  // The memory of what a session has told its own child; null: it has no child of its own.
  [[nodiscard]] SessionMemory* memory_of(session::SessionId session) const;
  // The params of its client's greeting, empty if the client has not greeted yet; nothing: it has
  // no child of its own.
  [[nodiscard]] std::optional<std::string_view> greeting_of(session::SessionId session) const;
  // Whether this session waits for a place.
  [[nodiscard]] bool awaits_child(session::SessionId session) const {
    const Lease* const lease = leases_.find(session);
    return lease != nullptr && lease->state == LeaseState::waiting;
  }
  // Whether one more call may wait for a child of its own.
  [[nodiscard]] bool has_room_alone(size_t bytes) const {
    return leases_.queued() < services_.config.pool.queue &&
           leases_.queued_bytes() + bytes <= services_.config.pool.queue_bytes;
  }
  // Sessions with a right to a child that have none at the moment.
  [[nodiscard]] std::vector<session::SessionId> childless() const {
    return leases_.childless_sessions();
  }

  // Like Pool's functions.
  tl::expected<void, rpc::FaultReport> submit(Lease& lease, call::CallPtr& call,
                                              const call::Outgoing& message);
  bool notify(Lease& lease, const call::Outgoing& message);

  // Takes the child of the session that has been idle longest. False: all sessions are at work, or
  // were a moment ago, or sessions do not give way.
  bool free_place();
  // After free_place() has failed: whether a session is about to give way.
  [[nodiscard]] bool frees_place_soon() const { return place_timer_.armed(); }
  // Places that were missing of late, see PlaceShortage.
  [[nodiscard]] size_t missing_places() const { return shortage_.missing(); }
  // A session may have become idle. Waiting sessions get its place after this turn of the loop,
  // when the cause has been dealt with.
  void settle();
  // A child has answered a request of the gateway's own; null: the answer is unreadable.
  void note_own_answer(Child& child, rpc::WireId id, const rpc::Envelope* answer);
  // Ends the child of a session without calls. The next message starts another child. Only while
  // can_replace().
  void replace(Lease& lease);
  [[nodiscard]] bool can_replace(const Lease& lease) const { return can_park(lease); }
  // The session's child has gone, while these calls of the session were in flight.
  void lose_child(Lease& lease, session::SessionEnd end, const rpc::FaultReport& report,
                  std::vector<call::CallPtr> calls);
  // No child can be started for the sessions that wait.
  void fail_waiting(const rpc::FaultReport& report);

 private:
  [[nodiscard]] bool cannot_start() const;
  std::optional<rpc::FaultReport> find_obstacle();
  void wake(Lease& lease);
  void note_turn(Lease& lease);
  void take_places();
  Lease* longest_idle();
  void park(Lease& lease, ParkReason reason);
  void finish_greeting(Lease& lease, Child& child, const rpc::Envelope* answer);
  [[nodiscard]] bool can_park(const Lease& lease) const;
  [[nodiscard]] bool can_revive(const Lease& lease) const;
  void fail(Lease& lease, const rpc::FaultReport& report, std::vector<call::CallPtr> calls);
  void lose(Lease& lease, session::SessionEnd end, const rpc::FaultReport& report,
            std::vector<call::CallPtr> calls);
  std::vector<call::CallPtr> take_queue(Lease& lease);
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  ChildListener& listener_;
  SessionEvents& session_events_;
  Leases& leases_;
  Children& children_;
  const std::function<void()> on_places_taken_;
  PlaceShortage shortage_;
  Timer place_timer_;  // a session may be about to give way
};

}  // namespace stdgate::pool
