// Children that belong to sessions: the leases of them, and the places that sessions leave to other
// calls.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/call/call_queue.h"
#include "gateway/pool/child.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/session_memory.h"

namespace stdgate::pool {

// SharedQueues: the messages that wait for children that clients share.
//
// Most calls without a lease wait for any child that has room. Where one process serves all calls
// of a principal, some calls take turns: calls during which the process may ask their client
// something. They wait here until no other such call is under way. Owner: the pool. Limits: for
// each queue the limits of a CallQueue.
struct SharedQueues {
  // `held`: see CallQueue.
  SharedQueues(const config::BackendConfig& config, HeldBytes* held)
      : calls(config.pool, held), turns(config.pool, held), has_turns(config.serves_one) {}

  // Whether the call waits for its turn. A call that has got its turn has a session.
  [[nodiscard]] bool takes_turns(const call::Call& call) const {
    return has_turns && call.alone && call.session.is_none();
  }
  [[nodiscard]] call::CallQueue& of(const call::Call& call) {
    return takes_turns(call) ? turns : calls;
  }
  [[nodiscard]] bool empty() const { return calls.empty() && turns.empty(); }
  [[nodiscard]] size_t size() const { return calls.size() + turns.size(); }
  // How many messages a child could be given now.
  [[nodiscard]] size_t wanting() const {
    return calls.size() + (!is_turn_taken && !turns.empty() ? 1 : 0);
  }

  call::CallQueue calls;
  call::CallQueue turns;
  const bool has_turns;
  bool is_turn_taken = false;
};

enum class LeaseState : uint8_t { waiting, served, parked, lost };
inline constexpr size_t kLeaseStateCount = static_cast<size_t>(LeaseState::lost) + 1;

// Lease: stands for one session with a child of its own, from its opening to its close. The session
// waits for a child, has one, is parked without one until its next message, or is lost for good.
// Owner: Leases.
struct Lease {
  Lease(session::SessionId id, const config::PoolConfig& config, HeldBytes* counted)
      : session(id), queue(config, counted) {}
  const session::SessionId session;
  LeaseState state = LeaseState::parked;
  uint64_t turn = 0;       // waiting: the lease with the lowest turn is next
  Child* child = nullptr;  // not null while served, and only then
  call::CallQueue queue;
  SessionMemory memory;
  std::unique_ptr<Revival> revival;  // briefs the child; null: the child takes messages
  std::optional<TimePoint> woken;    // when the message came that revives the session
  TimePoint served{};                // since it has this child
  TimePoint used{};                  // time of the last message
  std::optional<TimePoint> ousted;   // when another session got its place; nothing: it has not
  bool has_begun = false;            // it has had a child, here or elsewhere
  bool held = false;                 // the client takes no messages, so the child is not read
  bool paused = false;               // the client has been told to wait

  // The session has no work under way, so its child may be taken away.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] bool takes_messages() const {
    return child != nullptr && revival == nullptr && child->has_room();
  }
};

// Leases: the sessions that have a child of their own, and the messages that wait for those
// children.
//
// A child that replaces another one first hears from a Revival what its predecessor was told;
// messages come after that. Messages of a session reach its child in their order. Only answers and
// cancels may overtake, because a child that waits for them takes nothing else. Owner: the pool,
// which owns the children too. Limits: for each lease the limits of a CallQueue.
class Leases {
 public:
  Leases(const PoolServices& services, SessionEvents& events)
      : services_(services), events_(events) {}

  // Parked at first.
  Lease& open(session::SessionId session);
  [[nodiscard]] Lease* find(session::SessionId session) const;
  // Removes an open lease, and hands it out with its waiting messages.
  [[nodiscard]] std::unique_ptr<Lease> close(session::SessionId session);
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t waiting() const { return count(LeaseState::waiting); }
  // Leases that have a child or are to get one.
  [[nodiscard]] size_t taken() const { return waiting() + count(LeaseState::served); }
  [[nodiscard]] size_t queued() const;  // messages
  [[nodiscard]] size_t queued_bytes() const;

  // The lease waits for a child from now on.
  void want_child(Lease& lease);
  // Gives the child to the session that has waited longest. False when none waits.
  bool attach(Child& child);
  // Takes the child from the session and returns it, null for none. The caller decides what becomes
  // of the child.
  Child* detach(Lease& lease, LeaseState state);

  // Like Pool's functions, but for one lease.
  tl::expected<void, rpc::FaultReport> submit(Lease& lease, call::CallPtr& call,
                                              const call::Outgoing& message);
  bool notify(Lease& lease, const call::Outgoing& message);
  // Sends waiting messages as far as the child takes them, and lets the client continue.
  void dispatch(Lease& lease);
  // The queue has grown or shrunk: tells the client to wait, or to continue.
  void watch_queue(Lease& lease);
  // While held, the output of the child stays in its pipe.
  void hold(Lease& lease, bool held);

  // Sessions without a child, whether they wait for one or not.
  [[nodiscard]] std::vector<session::SessionId> childless_sessions() const;
  // Sessions that wait for a child.
  [[nodiscard]] std::vector<session::SessionId> waiting_sessions() const;

  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& lease : leases_) {
      if (lease != nullptr) visit(*lease);
    }
  }

 private:
  [[nodiscard]] size_t count(LeaseState state) const { return counts_[static_cast<size_t>(state)]; }
  void set_state(Lease& lease, LeaseState state);
  void send(Lease& lease, call::CallPtr call, const call::Outgoing& message);
  void send_message(Lease& lease, const call::Outgoing& message);

  const PoolServices& services_;
  SessionEvents& events_;
  std::vector<std::unique_ptr<Lease>> leases_;  // by the session's index
  size_t size_ = 0;
  std::array<size_t, kLeaseStateCount> counts_{};
  uint64_t turns_ = 0;
};

// KeptPlaces: the places for children that sessions leave to calls without a session.
//
// Where sessions have children of their own, these are config.pool.min places. They are lent to
// sessions while there is no call without a session, and has been none for
// config.pool.idle_timeout. Owner: Children.
class KeptPlaces {
 public:
  // `queues`, `children`: of the pool.
  KeptPlaces(const PoolServices& services, const SharedQueues& queues,
             const std::vector<std::unique_ptr<Child>>& children)
      : services_(services), queues_(queues), children_(children) {}

  // The number of kept places, and how many of them are not lent at the moment.
  [[nodiscard]] uint32_t all() const;
  [[nodiscard]] uint32_t unlent() const { return is_lending() ? 0 : all(); }
  // When the kept places may be lent; nothing: no place is left to lend.
  [[nodiscard]] std::optional<TimePoint> lends_at() const;
  // A call without a session has come.
  void note_call(TimePoint arrived) { last_call_ = arrived; }
  // Why a session has no child, for its client: all `places` of sessions are taken.
  [[nodiscard]] std::string shortage(uint32_t places) const;

 private:
  [[nodiscard]] bool is_lending() const;
  [[nodiscard]] bool is_shared() const {
    return services_.config.isolation == config::Isolation::shared;
  }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  const SharedQueues& queues_;
  const std::vector<std::unique_ptr<Child>>& children_;
  std::optional<TimePoint> last_call_;  // nothing: there was none
};

}  // namespace stdgate::pool
