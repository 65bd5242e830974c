// Children: the processes of a pool. Decides how many there may be, starts them, and handles
// children that fail or idle.
//
// A child is in one of two lanes for its whole life (Child::isolation()). In the shared lane it
// serves calls of many clients. In the session lane it belongs to one session, or is warm and waits
// for one. Both lanes share the cap config.pool.max. Where sessions have children of their own,
// they may have all but KeptPlaces. The shared lane has what sessions and warm children do not
// take. Owner: the pool. Limits: config.pool.max children.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gateway/call/call_queue.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/breaker.h"
#include "gateway/pool/child.h"
#include "gateway/pool/handshake.h"
#include "gateway/pool/leases.h"

namespace stdgate::pool {

class Children {
 public:
  // `pool`: passed to each child. `queues`: of the shared lane. `leases`: of the session lane.
  Children(const PoolServices& services, Pool& pool, ChildListener& listener,
           const SharedQueues& queues, Leases& leases);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  [[nodiscard]] std::span<const std::unique_ptr<Child>> all() const { return children_; }
  [[nodiscard]] bool empty() const { return children_.empty(); }
  // The child with this number, as long as it runs.
  [[nodiscard]] Child* find(uint64_t number) const;
  // The shared child with the least to do among the children with room for a call, and that may be
  // given this one; null if none has room.
  [[nodiscard]] Child* least_loaded(const call::Call* call = nullptr) const;
  // A child of the session lane without a session; null: none.
  [[nodiscard]] Child* warm() const;

  // The children that are alive, by lane.
  struct Census {
    struct Lane {
      uint32_t starting = 0;
      uint32_t ready = 0;  // busy ones included
      [[nodiscard]] uint32_t alive() const { return starting + ready; }
    };
    Lane shared;        // without children that retire
    Lane session;       // with and without a lease
    uint32_t warm = 0;  // of the session lane, without a lease
    [[nodiscard]] uint32_t starting() const { return shared.starting + session.starting; }
    [[nodiscard]] uint32_t ready() const { return shared.ready + session.ready; }
    [[nodiscard]] uint32_t alive() const { return starting() + ready(); }
  };
  [[nodiscard]] Census census() const;
  // How many children of each lane there may be at the moment. Where sessions share children, the
  // session lane is for calls that need a child alone.
  [[nodiscard]] uint32_t session_places() const;
  // Includes a place that is withheld from sessions for a while, unlike session_places().
  [[nodiscard]] uint32_t most_session_places() const;
  [[nodiscard]] uint32_t shared_places() const;
  // Why a session has no child, for its client: all places are taken.
  [[nodiscard]] std::string shortage() const { return kept_.shortage(session_places()); }
  [[nodiscard]] KeptPlaces& kept() { return kept_; }

  // Starts children for sessions, for the minimum and for waiting calls. After a failure it starts
  // one at a time, and not before the breaker allows it: later for the minimum than for waiting
  // calls.
  void start_needed();
  // Retires shared children whose places sessions have got.
  void make_places();
  // Ends a child that retires, if it has no calls.
  void end_retired(Child& child);
  // The child may have become idle.
  void watch_idle(const Child& child);

  // Which kind shared children speak; nothing: not known yet.
  [[nodiscard]] std::optional<PeerKind> peer_kind() const { return verdict_.peer_kind(); }

  // Whether one more shared child may be started beside one that is to be replaced.
  [[nodiscard]] bool has_room_for_successor() const {
    return children_.size() < config().max && census().shared.alive() < shared_places();
  }

  [[nodiscard]] BackendState state() const { return state(census()); }
  // Ends warm children, which have no use once sessions share children.
  void end_warm();
  // Whether no child runs, though one could.
  [[nodiscard]] bool are_asleep() const;
  // See PeerVerdict; while there are shared children the verdict is theirs.
  void assume_peer_kind(PeerKind peer_kind) { verdict_.learn(peer_kind); }
  void doubt_peer_kind() {
    if (census().shared.alive() == 0) verdict_.doubt();
  }
  void keep_shared_place(bool keeps) { keeps_shared_place_ = keeps; }
  // Greets the next shared stateful child as this client would.
  void greet_for(Introduction client) { greeting_ = std::move(client); }

  void note_ready(const Child& child);
  void note_answer(const Child& child, rpc::MessageKind kind);
  // A child has ended before it was ready. Whether that does not count as a failure: see
  // PeerVerdict.
  bool excuses(const Child& child, const ChildEnd& end);
  // A child has shown that the backend works, or has ended well.
  void note_success() {
    if (is_open_ || !breaker_.is_clear()) end_failures();
  }
  // The child has ended: it leaves all(), and stays valid until sweep(). `is_fine`: it has not
  // failed. `serves_lease`: it has had a session.
  void remove(Child& child, const ChildEnd& end, bool is_fine, bool serves_lease);
  // Destroys removed children. Must not be called from within a call of a child.
  void sweep() { gone_.clear(); }

  // The backend keeps failing.
  [[nodiscard]] bool is_tripped() const { return breaker_.tripped(); }
  // One waiting call may try the backend again.
  [[nodiscard]] bool is_trial_due() const {
    return !ending_ && breaker_.may_start(now()) && census().starting() == 0;
  }
  [[nodiscard]] rpc::FaultReport breaker_report() const;

  // Children are started only for accepted work from now on.
  void drain() { draining_ = true; }
  [[nodiscard]] bool is_draining() const { return draining_; }
  // Starts no more children, and asks all to go.
  void end_all(const std::string& message, Duration grace);

  void describe(BackendStatus& status) const;
  // Ends the process if an invariant is broken. Must not be called from within the core.
  void check_invariants() const;

 private:
  struct Need {
    config::Isolation isolation = config::Isolation::shared;
    StartReason reason = StartReason::demand;
  };
  [[nodiscard]] uint32_t places_taken() const;
  [[nodiscard]] uint32_t warm_wanted() const;
  [[nodiscard]] std::optional<Need> needed(const Census& there) const;
  void start(const Need& need);
  [[nodiscard]] Child* lacks_successor() const;
  [[nodiscard]] bool waits_for_peer_kind(const Need& need, const Census& there) const;
  void learn_peer_kind(const Child& child);
  void announce(const Child& child, Duration start);
  void end_idle();
  std::optional<TimePoint> end_listening();
  void end_failures();
  void tell_breaker();
  void note_failure(const Child& child, const ChildEnd& end, bool serves_lease);
  [[nodiscard]] Demand demand() const;
  // Whether the last child has failed, even if it served only one session.
  [[nodiscard]] bool has_failed() const { return breaker_.failures() > 0; }
  [[nodiscard]] bool is_failing() const { return has_failed() && fails_for_all_; }
  [[nodiscard]] bool has_proven_child() const;
  [[nodiscard]] BackendState state(const Census& there) const;
  [[nodiscard]] std::string why_not_ready(const Census& there) const;
  [[nodiscard]] const config::PoolConfig& config() const { return services_.config.pool; }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  Pool& pool_;
  ChildListener& listener_;
  const SharedQueues& queues_;
  Leases& leases_;
  Breaker breaker_;
  PeerVerdict verdict_;
  ExitJournal exits_;
  std::vector<std::unique_ptr<Child>> children_;
  KeptPlaces kept_;
  std::vector<std::unique_ptr<Child>> gone_;  // until sweep(): nothing dies in its call stack
  Introduction greeting_;                     // of the next shared child
  uint64_t started_ = 0;
  bool was_started_ = false;  // some child has run
  bool was_excused_ =
      false;                // the last start has failed, which is excused unless the next one does
  bool was_ready_ = false;  // a child has shown that it works
  bool fails_for_all_ = false;  // the last failure says something about the backend
  bool keeps_shared_place_ = false;
  bool is_open_ = false;  // whether the breaker is open, as last told to the observer
  bool draining_ = false;
  bool ending_ = false;
  std::string last_failure_;         // of a child, for readiness
  Timer restart_timer_;              // the breaker allows the next start
  Timer idle_timer_;                 // some child may have idled long enough
  bool is_idle_timer_late_ = false;  // the timer waits for a child that is needed longer
};

}  // namespace stdgate::pool
