// Child: one process of a backend: its link, its framing, its ids, its state.
//
// Job: turn calls into bytes with wire ids and bytes back into answered calls; greet the process
// and notice its end. Owner: the pool, which it tells what happens through ChildOwner. States:
// starting (no calls yet), ready, busy (takes no more calls), draining (asked to go), dead (gone;
// the owner retires it). Limits: config.pool.max_in_flight calls; ChildLink::kHighWatermark unsent
// bytes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/base/rate_limit.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/call_store.h"
#include "gateway/pool/child_end.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"

namespace stdgate {

class Child;

// Told by a child from the outermost level of the loop. The owner must not destroy the child there.
class ChildOwner {
 public:
  virtual ~ChildOwner() = default;
  virtual void on_child_ready(Child& child) = 0;
  // The call has left the child's table.
  virtual void on_child_answer(Child& child, CallPtr call, const Envelope& answer) = 0;
  // The child's answer to `call` makes no sense.
  virtual void on_child_broken_answer(Child& child, CallPtr call, const FaultReport& report) = 0;
  // A notification that belongs to `call`; `progress_token` is its place in notification.text.
  virtual void on_child_event(const Call& call, const Envelope& notification,
                              Outgoing::Place progress_token) = 0;
  // A notification that belongs to no call, or a request. `method` is decoded.
  virtual void on_child_notification(Child& child, const Envelope& notification,
                                     std::string_view method) = 0;
  virtual void on_child_request(Child& child, const Envelope& request, std::string_view method) = 0;
  // It may have room again.
  virtual void on_child_writable(Child& child) = 0;
  // Last word of a child. Its calls are still in its table: take_calls().
  virtual void on_child_gone(Child& child, const ChildEnd& end) = 0;
};

class Child final : private ChildEvents, private FrameSink {
 public:
  // `lane`: whether many clients share it, or a session is to have it to itself. The latter is not
  // greeted: its client does that.
  Child(const PoolServices& services, ChildOwner& owner, uint64_t number, Isolation lane);
  ~Child() override;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void start();
  // Asks the process to go. `reason` and `message` are what its end will be put down to.
  void end(ExitReason reason, std::string message, Duration grace);
  // Lets the process go as its protocol has it: asked first, if it can be, and within config.grace
  // in all, signals included.
  void dismiss(std::string message);
  // Takes no more calls; the owner ends it after the last one.
  void retire() { retiring_ = true; }

  [[nodiscard]] uint64_t number() const { return number_; }
  [[nodiscard]] Isolation lane() const { return lane_; }
  [[nodiscard]] bool is_retiring() const { return retiring_; }
  // The session that has it to itself; none: it is shared, or waits for one.
  [[nodiscard]] SessionId lease() const { return lease_; }
  void set_lease(SessionId session) { lease_ = session; }
  // While not, what it says is left in its pipe; one that is asked to go is read in any case.
  void set_reading(bool reading);

  [[nodiscard]] ChildState state() const { return state_; }
  // Whether one more call may be given to it now.
  [[nodiscard]] bool has_room() const;
  // Grows with calls in flight and with the bytes of their messages.
  [[nodiscard]] size_t load() const;
  // Of clients: the gateway's own, the greeting and those of ask(), are none. A farewell counts, so
  // that a drain waits for it.
  [[nodiscard]] size_t in_flight() const {
    return calls_.size() - own_calls_ + (farewell_ ? 1 : 0);
  }
  [[nodiscard]] size_t own_in_flight() const { return own_calls_; }
  // Ready, but its stdin is full.
  [[nodiscard]] bool is_backed_up() const;
  [[nodiscard]] bool was_ready() const { return ready_since_ != TimePoint::max(); }
  [[nodiscard]] TimePoint started_at() const { return started_at_; }
  [[nodiscard]] TimePoint idle_since() const { return idle_since_; }
  [[nodiscard]] TimePoint ready_since() const { return ready_since_; }

  // Only while has_room().
  void send(CallPtr call, const Outgoing& message);
  // A notification, or an answer to a request of the process.
  void send_message(const Outgoing& message);
  // Sends a request of the gateway's own, `text(id)`; what is answered does not matter. Only while
  // has_room().
  void ask(const std::function<std::string(WireId)>& text, TimePoint deadline);
  // Answers a request of the process that nobody else does: with a result (raw JSON), or an error.
  void answer(std::string_view id, std::string_view result);
  void refuse(std::string_view id, int code, std::string_view message);
  // What the process answered to the handshake. Only of a child that got ready by one.
  Envelope handshake_answer();

  // The calls in the order in which they were sent.
  Correlator<CallPtr>& calls() { return calls_; }
  // Takes a call back without an answer and tells the process so.
  CallPtr abandon(WireId id, CancelReason reason);
  // Asks the process, once, to cancel a call whose answer is still due.
  void request_cancel(WireId id, CancelReason reason);
  // Takes all calls back without telling the process.
  std::vector<CallPtr> take_calls();
  // Whether it is busy or ready, after calls have ended and others have been given to it: a place
  // that is taken again at once is no news.
  void settle_state();

  // A call has waited for the process since then, to its deadline. True when the process was silent
  // all the time though it was read, and that so often in a row that it has to be given up.
  bool note_timeout(TimePoint waiting_since);

  [[nodiscard]] ChildStatus status() const;

 private:
  // ChildEvents
  void on_started(int pid) override;
  void on_output(std::span<char> bytes) override;
  void on_output_end() override;
  void on_writable() override;
  void on_exit(const ExitStatus& status) override;
  // FrameSink
  void on_frame(std::span<char> message) override;
  void on_oversized_frame(std::string_view id, size_t size) override;
  void on_broken_framing(const char* reason) override;

  void handle(const ParsedMessage& message);
  void handle_answer(const Envelope& answer);
  void handle_notification(const Envelope& notification);
  const Call* call_with_token(std::string_view token);
  void handle_request(const Envelope& request);
  void finish_own_call(WireId id);
  void handle_unreadable_answer(WireId id, const FaultReport& report);
  void handle_broken(const ParsedMessage& message);
  void note_sign_of_life();
  void start_draining(ExitReason reason, std::string message);
  void drop(DropReason reason, std::string_view why, std::string_view text);

  void greet();
  void finish_greeting(const Envelope& answer);
  void become_ready();
  [[nodiscard]] bool takes_calls() const;
  void set_state(ChildState state);
  std::optional<WireId> open_own_call(TimePoint deadline = TimePoint::max());
  CallPtr close_call(WireId id);
  void write(const Outgoing& message, std::optional<WireId> id);
  void write_text(std::string_view text);
  void write_answer(std::string_view id, std::string_view member, std::string_view value);
  void finish_farewell();

  const PoolServices& services_;
  ChildOwner& owner_;
  const uint64_t number_;  // the backend's how-manieth child
  const Isolation lane_;
  SessionId lease_;
  bool retiring_ = false;
  bool is_read_ = true;
  ChildState state_ = ChildState::dead;
  int pid_ = 0;
  TimePoint started_at_{};
  TimePoint ready_since_ = TimePoint::max();
  TimePoint idle_since_{};
  uint64_t calls_sent_ = 0;
  TimePoint last_sign_{};  // of life: it has written or read something
  uint32_t silent_timeouts_ = 0;
  size_t own_calls_ = 0;          // of `calls_`, those of the gateway
  size_t outstanding_bytes_ = 0;  // of the requests in flight
  std::optional<ChildEnd> end_;   // set when the gateway itself ends the process
  std::string handshake_answer_;  // the process's response to handshake(), whole

  EnvelopeParser parser_;
  std::unique_ptr<Framer> framer_;
  std::string frame_head_;  // scratch
  std::string method_;      // scratch
  Correlator<CallPtr> calls_;
  RateLimit bad_lines_;
  Timer start_timer_;
  Timer output_end_timer_;
  std::optional<WireId> farewell_;  // the request to end, until it is answered or given up
  Timer farewell_timer_;
  std::unique_ptr<ChildLink> link_;
};

}  // namespace stdgate
