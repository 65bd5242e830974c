// Leases: the sessions that have a child to themselves, and what waits for those children.
//
// A lease stands for one such session from its opening to its close: first without a child, then
// with one, and lost when that child has gone, as the session's state was in it.
// Messages of a session reach its child in their order, but for answers and cancels, which may
// overtake: a child that waits for them takes nothing else.
// Owner: the pool, which owns the children too. Limits: for each lease those of a CallQueue.
#pragma once

#include <memory>
#include <vector>

#include "gateway/pool/call_queue.h"
#include "gateway/pool/child.h"
#include "gateway/pool/session_events.h"

namespace stdgate::pool {

struct Lease {
  Lease(session::SessionId id, const config::PoolConfig& config, uint64_t ordinal)
      : session(id), number(ordinal), queue(config) {}
  const session::SessionId session;
  const uint64_t number;  // in the order of opening
  Child* child = nullptr;
  CallQueue queue;
  bool held = false;    // the client takes nothing, so the child is not read
  bool paused = false;  // the client has been told to wait
  bool lost = false;
};

class Leases {
 public:
  Leases(const config::PoolConfig& config, SessionEvents& events)
      : config_(config), events_(events) {}

  void open(session::SessionId session);
  [[nodiscard]] Lease* find(session::SessionId session) const;
  // Of an open lease. Hands it out, with what waits in it.
  [[nodiscard]] std::unique_ptr<Lease> close(session::SessionId session);
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t waiting() const;  // leases without a child
  [[nodiscard]] size_t queued() const;   // messages
  [[nodiscard]] size_t queued_bytes() const;

  // Gives the child to the session that has waited longest. False when none waits.
  bool attach(Child& child);

  // As Pool's, for one lease.
  tl::expected<void, rpc::FaultReport> submit(Lease& lease, CallPtr& call, const Outgoing& message);
  bool notify(Lease& lease, const Outgoing& message);
  // Sends what waits, as far as there is a child that takes it, and lets the client go on.
  void dispatch(Lease& lease);
  // While held, what the child says stays in its pipe.
  void hold(Lease& lease, bool held);

  // The session has lost its child; hands out the calls that waited for it.
  std::vector<CallPtr> lose(Lease& lease);
  // Those that still wait for a child.
  [[nodiscard]] std::vector<session::SessionId> waiting_sessions() const;

  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& lease : leases_) {
      if (lease != nullptr) visit(*lease);
    }
  }

 private:
  void watch_queue(Lease& lease);

  const config::PoolConfig& config_;
  SessionEvents& events_;
  std::vector<std::unique_ptr<Lease>> leases_;  // by the session's index
  size_t size_ = 0;
  uint64_t opened_ = 0;
};

}  // namespace stdgate::pool
