// Pool: the children of one backend and the calls that wait for them.
//
// Job: give each call to the child with the least load, start children when all are full and end
// them when they idle, replace those that die, and bring every call to an end: an answer, a fault,
// or its withdrawal.
// Owner: the backend, which hears the ends through PoolEvents. Invariants: a call is either in the
// queue or in the table of exactly one child; the pool's own state is consistent before anybody
// outside is told anything, since the told may call back.
// Limits: config.pool.max children, the queue's, and those of Child.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/pool/backend_status.h"
#include "gateway/pool/breaker.h"
#include "gateway/pool/call_queue.h"
#include "gateway/pool/child.h"
#include "gateway/pool/pool_services.h"

namespace stdgate {

class PoolEvents {
 public:
  virtual ~PoolEvents() = default;
  virtual void on_answer(Call call, const Envelope& answer) = 0;
  virtual void on_fault(Call call, const FaultReport& report) = 0;
  virtual void on_event(const Call& call, const Envelope& notification,
                        Outgoing::Place progress_token) = 0;
};

class Pool final : private ChildOwner {
 public:
  Pool(const PoolServices& services, PoolEvents& events);
  ~Pool() override;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Starts the minimum of children.
  void start();

  // Takes the call, to be answered through PoolEvents (perhaps before this returns), or says why
  // not; then the call is still the caller's.
  tl::expected<void, FaultReport> submit(Call& call, const Outgoing& message);
  // Gives a notification to some child, or queues it. False when there is no room for it.
  bool notify(const Outgoing& message);
  // Passes a client's wish to cancel its call on to the child; the answer is still due. False when
  // no child has such a call.
  bool request_cancel(Origin origin, std::string_view id);
  // Takes back, and cancels at the children, all calls of an origin.
  std::vector<Call> withdraw(Origin origin);

  // Shutdown, step by step: no new calls; answer what is left with a fault; end the children.
  void drain() { draining_ = true; }
  void fail_calls(const FaultReport& report);
  void end_children(Duration grace);  // none is started any more
  [[nodiscard]] size_t calls() const;
  [[nodiscard]] bool has_children() const { return !children_.empty(); }

  // Fills in everything but the name.
  void describe(BackendStatus& status) const;

 private:
  void on_child_ready(Child& child) override;
  void on_child_answer(Child& child, Call call, const Envelope& answer) override;
  void on_child_broken_answer(Child& child, Call call, const FaultReport& report) override;
  void on_child_event(const Call& call, const Envelope& notification,
                      Outgoing::Place progress_token) override;
  void on_child_writable(Child& child) override;
  void on_child_gone(Child& child, const ChildEnd& end) override;

  struct Census {
    uint32_t starting = 0;
    uint32_t ready = 0;  // busy ones included
    [[nodiscard]] uint32_t alive() const { return starting + ready; }
  };
  [[nodiscard]] Census census() const;

  Child* least_loaded();
  void give(Child& child, Call call, const Outgoing& message);
  void dispatch_queue();
  void after_call(const Child& child);
  void watch_idle(const Child& child);
  void start_child(StartReason reason);
  void start_what_is_needed();
  void fail_queue(const FaultReport& report);
  void expire_deadlines();
  void arm_deadline(TimePoint deadline);
  void end_idle_children();
  [[nodiscard]] FaultReport breaker_report() const;
  [[nodiscard]] const PoolConfig& config() const { return services_.config.pool; }
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const PoolServices& services_;
  PoolEvents& events_;
  Breaker breaker_;
  CallQueue queue_;
  std::vector<std::unique_ptr<Child>> children_;
  std::vector<std::unique_ptr<Child>> gone_;  // until sweep_timer_: nothing dies in its call stack
  uint64_t children_started_ = 0;
  bool draining_ = false;
  bool ending_ = false;
  std::string last_failure_;  // of a child, for readiness
  Timer restart_timer_;       // the breaker allows the next start
  Timer deadline_timer_;      // the earliest deadline, or earlier
  Timer idle_timer_;          // some child may have idled long enough
  Timer sweep_timer_;
};

}  // namespace stdgate
