// Pool: the children of one backend and the calls that wait for them.
//
// Job: give each call to the child with the least load, or to the child of its session; start
// children when all are full and end them when they idle, replace those that die, and bring every
// call to an end: an answer, a fault, or its withdrawal.
// Two lanes share the cap config.pool.max: the shared lane, where calls of many clients meet on a
// child, and the session lane (SessionLane). Where sessions have children of their own, they may
// have all but those kept for calls without a session; what they and the warm children do not take
// is the shared lane's. Owner: the backend, which hears what happens through PoolEvents.
// Invariants: a call is either in a queue or in the table of exactly one child; the pool's own
// state is consistent before anybody outside is told anything, since the told may call back.
// Limits: config.pool.max children, the queue's, and those of Child.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/pool/backend_status.h"
#include "gateway/pool/breaker.h"
#include "gateway/pool/call_queue.h"
#include "gateway/pool/child.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/session_lane.h"

namespace stdgate {

class Pool final : private ChildOwner {
 public:
  Pool(const PoolServices& services, PoolEvents& events);
  ~Pool() override;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Starts the minimum of children.
  void start();

  // Promises a child to the session, from now to its close: a warm one, or as soon as there is room
  // for one. Refused when every child that sessions may have is promised.
  tl::expected<void, FaultReport> open_lease(SessionId session);
  // Ends the session's child, and gives back the calls that were under way.
  std::vector<CallPtr> close_lease(SessionId session);
  // While held, what the session's child says is not read.
  void hold_child(SessionId session, bool held);

  // Takes the call, to be answered through PoolEvents (perhaps before this returns), or says why
  // not; then the call is still the caller's.
  tl::expected<void, FaultReport> submit(CallPtr& call, const Outgoing& message);
  // Gives a notification to the session's child; else to the child that the session has last asked
  // something or is being asked by (`child`, 0: not), or to some child; or queues it. False when
  // there is no room for it.
  bool notify(SessionId session, uint64_t child, const Outgoing& message);
  // Passes a client's wish to cancel its call on to the child. Usually the answer is still due; a
  // call that is over by this is moved to `*ended`. False when there is no such call.
  bool request_cancel(Origin origin, SessionId session, std::string_view id, CallPtr* ended);
  // Sends a shared child a request of the gateway's own, `text(id)`, whose answer does not matter.
  // Clients come first: only while can_ask().
  void ask(Child& child, const std::function<std::string(WireId)>& text);
  [[nodiscard]] bool can_ask(const Child& child) const;
  // Has PoolEvents::on_spare_room() told of every child that can be asked.
  void offer_spare_room();
  // The child with this number, as long as it runs.
  [[nodiscard]] Child* find_child(uint64_t number) const;
  // Takes back, and cancels at the children, all calls of an origin.
  std::vector<CallPtr> withdraw(Origin origin);

  static FaultReport shutdown_report();

  // Shutdown, step by step: no new calls; answer what is left with a fault; end the children.
  void drain() { draining_ = true; }
  [[nodiscard]] bool is_draining() const { return draining_; }
  void fail_calls(const FaultReport& report);
  void end_children(Duration grace);  // none is started any more
  [[nodiscard]] size_t calls() const;
  [[nodiscard]] bool has_children() const { return !children_.empty(); }

  // Fills in everything but the name.
  void describe(BackendStatus& status) const;

 private:
  void on_child_ready(Child& child) override;
  void on_child_answer(Child& child, CallPtr call, const Envelope& answer) override;
  void on_child_broken_answer(Child& child, CallPtr call, const FaultReport& report) override;
  void on_child_event(const Call& call, const Envelope& notification,
                      Outgoing::Place progress_token) override;
  void on_child_notification(Child& child, const Envelope& notification,
                             std::string_view method) override;
  void on_child_request(Child& child, const Envelope& request, std::string_view method) override;
  void on_child_writable(Child& child) override;
  void on_child_gone(Child& child, const ChildEnd& end) override;

  struct Census {
    struct Lane {
      uint32_t starting = 0;
      uint32_t ready = 0;  // busy ones included
      [[nodiscard]] uint32_t alive() const { return starting + ready; }
    };
    Lane shared;        // those that retire not included
    Lane session;       // leased or not
    uint32_t warm = 0;  // of the session lane, without a lease
    [[nodiscard]] uint32_t starting() const { return shared.starting + session.starting; }
    [[nodiscard]] uint32_t ready() const { return shared.ready + session.ready; }
    [[nodiscard]] uint32_t alive() const { return starting() + ready(); }
  };
  [[nodiscard]] Census census() const;

  // How many children of each kind there may be at the moment.
  [[nodiscard]] uint32_t session_places() const;
  [[nodiscard]] uint32_t warm_wanted() const;
  [[nodiscard]] uint32_t shared_places() const;

  Child* least_loaded();
  void give(Child& child, CallPtr call, const Outgoing& message);
  void dispatch_queue();
  void dispatch_all();
  void after_call(Child& child);
  void watch_idle(const Child& child);
  void watch_queue();
  [[nodiscard]] Child* child_with_call_of(SessionId session) const;
  struct Need {
    Isolation lane = Isolation::shared;
    StartReason reason = StartReason::demand;
  };
  [[nodiscard]] std::optional<Need> needed_child(const Census& there) const;
  void start_child(const Need& need);
  void make_places();
  void end_retired(Child& child);
  void start_what_is_needed();
  void fail_queue(const FaultReport& report);
  void lose_lease(Lease& lease, SessionEnd end, const FaultReport& report,
                  std::vector<CallPtr> calls);
  void lose_waiting_leases(const FaultReport& report);
  struct Expiry;
  void expire_deadlines();
  static void expire_queue(CallQueue& queue, Expiry& expiry);
  void expire_calls(Child& child, size_t first, size_t last, Expiry& expiry);
  void arm_deadline(TimePoint deadline);
  void end_idle_children();
  [[nodiscard]] FaultReport breaker_report() const;
  [[nodiscard]] const PoolConfig& config() const { return services_.config.pool; }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  PoolEvents& events_;
  Breaker breaker_;
  CallQueue queue_;  // of the shared lane
  SessionLane lane_;
  std::vector<std::unique_ptr<Child>> children_;
  std::vector<std::unique_ptr<Child>> gone_;  // until sweep_timer_: nothing dies in its call stack
  uint64_t children_started_ = 0;
  bool draining_ = false;
  bool ending_ = false;
  bool paused_ = false;       // those that share children have been told to wait
  std::string last_failure_;  // of a child, for readiness
  Timer restart_timer_;       // the breaker allows the next start
  Timer deadline_timer_;      // the earliest deadline, or earlier
  Timer idle_timer_;          // some child may have idled long enough
  Timer sweep_timer_;
};

}  // namespace stdgate
