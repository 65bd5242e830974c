// Leases: the sessions that have a child to themselves, and what waits for those children.
//
// A lease stands for one such session from its opening to its close. It waits for a child, has one,
// is parked without one until the session's next message, or is lost for good. A child that follows
// another one is told by a Revival what that was told, before it gets messages.
// Messages of a session reach its child in their order, but for answers and cancels, which may
// overtake: a child that waits for them takes nothing else.
// Owner: the pool, which owns the children too. Limits: for each lease those of a CallQueue.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "gateway/call/call_queue.h"
#include "gateway/pool/child.h"
#include "gateway/pool/revival.h"
#include "gateway/pool/session_events.h"
#include "gateway/pool/session_memory.h"

namespace stdgate::pool {

enum class LeaseState : uint8_t { waiting, served, parked, lost };
inline constexpr size_t kLeaseStateCount = static_cast<size_t>(LeaseState::lost) + 1;

struct Lease {
  Lease(session::SessionId id, const config::PoolConfig& config, HeldBytes* counted)
      : session(id), queue(config, counted) {}
  const session::SessionId session;
  LeaseState state = LeaseState::parked;
  uint64_t turn = 0;       // waiting: the one with the lowest is next
  Child* child = nullptr;  // not null while served, and only then
  call::CallQueue queue;
  SessionMemory memory;
  std::unique_ptr<Revival> revival;  // the child is being told; null: it takes messages
  std::optional<TimePoint> woken;    // a message has come for it to be revived
  TimePoint served{};                // since it has this child
  TimePoint used{};                  // its last message
  std::optional<TimePoint> ousted;   // another one has got its place; nothing: it left by itself
  bool has_begun = false;            // it has had a child, here or elsewhere
  bool held = false;                 // the client takes nothing, so the child is not read
  bool paused = false;               // the client has been told to wait

  // Nothing is under way, so that the session can do without a child.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] bool takes_messages() const {
    return child != nullptr && revival == nullptr && child->has_room();
  }
};

class Leases {
 public:
  Leases(const PoolServices& services, SessionEvents& events)
      : services_(services), events_(events) {}

  // Parked at first.
  Lease& open(session::SessionId session);
  [[nodiscard]] Lease* find(session::SessionId session) const;
  // Of an open lease. Hands it out, with what waits in it.
  [[nodiscard]] std::unique_ptr<Lease> close(session::SessionId session);
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t waiting() const { return count(LeaseState::waiting); }
  // Those that have a child or are to get one.
  [[nodiscard]] size_t taken() const { return waiting() + count(LeaseState::served); }
  [[nodiscard]] size_t queued() const;  // messages
  [[nodiscard]] size_t queued_bytes() const;

  // From now on it waits for a child.
  void want_child(Lease& lease);
  // Gives the child to the session that has waited longest. False when none waits.
  bool attach(Child& child);
  // The session has no child from now on. Returns the one that it had, null for none; what becomes
  // of that one is the caller's business.
  Child* detach(Lease& lease, LeaseState state);

  // As Pool's, for one lease.
  tl::expected<void, rpc::FaultReport> submit(Lease& lease, call::CallPtr& call,
                                              const call::Outgoing& message);
  bool notify(Lease& lease, const call::Outgoing& message);
  // Sends what waits, as far as there is a child that takes it, and lets the client go on.
  void dispatch(Lease& lease);
  // The queue has grown or shrunk: tells the client to wait, or to go on.
  void watch_queue(Lease& lease);
  // While held, what the child says stays in its pipe.
  void hold(Lease& lease, bool held);

  // Those that have no child, be it that they wait for one or not.
  [[nodiscard]] std::vector<session::SessionId> childless_sessions() const;
  // Those that still wait for a child.
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

}  // namespace stdgate::pool
