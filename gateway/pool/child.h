// Child: one process of a backend: its link, its state, and the messages that it is sent.
//
// Job: start the process, write calls with wire ids and messages to it, tell the pool of answered
// calls and of its state. ChildOutput reads what the process writes, CallTable holds its calls, and
// Handshake its start. Requests and notifications of the process go to the ChildListener. Owner:
// Children. States: starting (no calls yet), ready, busy (takes no more calls), draining (asked to
// go), dead (gone; the owner destroys it later). Bound calls (Route::is_bound) have room of their
// own, as much as the other calls; further ones wait here. Limits: config.pool.max_in_flight calls,
// calls that listen not counted; ChildLink::kHighWatermark unsent bytes.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/base/check.h"
#include "gateway/call/call_queue.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/call_table.h"
#include "gateway/pool/child_input.h"
#include "gateway/pool/child_log.h"
#include "gateway/pool/child_output.h"
#include "gateway/pool/handshake.h"
#include "gateway/pool/pool_events.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class Pool;

class Child final : private ChildEvents {
 public:
  // `isolation`: whether many clients share the child, or one session has it alone. The gateway
  // does not greet a session's child: its client does, so `greeting` has no effect. `client`: see
  // Handshake.
  Child(const PoolServices& services, Pool& pool, ChildListener& listener, uint64_t number,
        config::Isolation isolation, Greeting greeting, Introduction client = {});
  ~Child() override;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void start();
  // Asks the process to go. Its ChildEnd will have this `reason` and `message`.
  void end(ExitReason reason, std::string message, Duration grace);
  // Ends the process as its protocol demands: by a shutdown request first, if the dialect has one.
  // Takes config.pool.grace in all, signals included.
  void dismiss(std::string message);
  // The child takes no more calls; the owner ends it after the last one.
  void retire() { retiring_ = true; }
  [[nodiscard]] Wear& wear() { return wear_; }
  [[nodiscard]] const Wear& wear() const { return wear_; }
  [[nodiscard]] uint64_t calls_sent() const { return calls_.sent(); }
  [[nodiscard]] int pid() const { return name_.pid; }

  [[nodiscard]] uint64_t number() const { return name_.number; }
  [[nodiscard]] config::Isolation isolation() const { return isolation_; }
  [[nodiscard]] bool is_retiring() const { return retiring_; }
  // The child retires, and has not been asked to go yet.
  [[nodiscard]] bool finishes() const { return retiring_ && keeps_bound(); }
  // The session that has the child alone; none: the child is shared, or warm.
  [[nodiscard]] session::SessionId lease() const { return lease_; }
  void set_lease(session::SessionId session) { lease_ = session; }
  // The client of the child, for the log. Stays when the lease has ended.
  void set_client(SessionName session, std::string address, std::string principal);
  // While off, output stays in the pipe. A child that is asked to go is read in any case.
  void set_reading(bool reading);

  [[nodiscard]] ChildState state() const { return state_; }
  // Whether the child can be given one more call now.
  [[nodiscard]] bool has_room() const {
    return takes_calls() && !retiring_ && link_->unsent_bytes() < ChildLink::kHighWatermark;
  }
  // Whether the filters let the child have this call now.
  [[nodiscard]] bool admits(const call::Call& call) const {
    return listener_.admits(call, number());
  }
  // As has_room(), for a bound call, which a child that retires still takes.
  [[nodiscard]] bool has_room_for_bound() const {
    return keeps_bound() && !calls_.full_for_bound() &&
           link_->unsent_bytes() < ChildLink::kHighWatermark;
  }
  // Whether bound calls may wait for the child: it has not been asked to go.
  [[nodiscard]] bool keeps_bound() const {
    return state_ == ChildState::ready || state_ == ChildState::busy;
  }
  call::CallQueue& bound() { return bound_; }
  [[nodiscard]] const call::CallQueue& bound() const { return bound_; }
  // Grows with the calls in flight and with the bytes of their messages.
  [[nodiscard]] size_t load() const { return calls_.load(); }
  // Calls without upkeep, see CallTable. A farewell counts, so that a drain waits for it.
  [[nodiscard]] size_t in_flight() const {
    return calls_.size() - calls_.upkeep() + (farewell_.is_under_way() ? 1 : 0);
  }
  // Calls of in_flight() that do more than listen.
  [[nodiscard]] size_t working() const {
    return calls_.working() - calls_.upkeep() + (farewell_.is_under_way() ? 1 : 0);
  }
  [[nodiscard]] size_t upkeep_in_flight() const { return calls_.upkeep(); }
  // The child is ready, but its stdin is full.
  [[nodiscard]] bool is_backed_up() const {
    return takes_calls() && link_->unsent_bytes() >= ChildLink::kHighWatermark;
  }
  // The child has answered a request, a handshake included.
  [[nodiscard]] bool has_answered() const { return has_answered_; }
  [[nodiscard]] bool was_ready() const { return ready_since_ != TimePoint::max(); }
  [[nodiscard]] TimePoint started_at() const { return started_at_; }
  [[nodiscard]] TimePoint ready_since() const { return ready_since_; }
  // Only while no call is in flight.
  [[nodiscard]] TimePoint idle_since() const { return std::max(ready_since_, calls_.idle_since()); }
  // Valid only while the calls that it has all listen.
  [[nodiscard]] TimePoint rests_since() const {
    return std::max(ready_since_, calls_.rests_since());
  }

  // Only while has_room(), or has_room_for_bound().
  void send(call::CallPtr&& call, const call::Outgoing& message);
  // Keeps a call that listens, and writes nothing to the process. Only while has_room().
  const call::Call& hold(call::CallPtr&& call);
  // Writes a notification. Only while has_room().
  void send_message(const call::Outgoing& message) { input_.write_note(message, peer_kind()); }
  // Writes a client's answer to a request of the process. The answer is dropped, and counted, when
  // too many bytes are unread.
  void send_answer(const call::Outgoing& message) { input_.write_answer(message, peer_kind()); }
  // Sends a request of the gateway's own, `text(id)`; the answer is ignored. Only while has_room().
  void ask(const std::function<std::string(rpc::WireId)>& text,
           TimePoint deadline = TimePoint::max());
  // Asks the process for log messages from this severity on. Only while has_room().
  void set_severity(session::Severity severity, TimePoint deadline = TimePoint::max());
  // Sends the greeting of a session's client again; the answer has a deadline. Only while
  // has_room().
  rpc::WireId greet_again(std::string_view params);
  // The gateway's own answer to a request of the process: a result (raw JSON), or an error.
  void answer(std::string_view id, std::string_view result) { input_.write_result(id, result); }
  void refuse(std::string_view id, int code, std::string_view message) {
    input_.write_error(id, code, message);
  }
  void refuse(std::string_view id, rpc::RpcError error, std::string_view message) {
    refuse(id, rpc::rpc_error_code(error), message);
  }
  // The answer of the process to the handshake. Only for a child that became ready by one.
  rpc::Envelope handshake_answer() { return handshake_.answer(); }
  // How the gateway began with the child, and the kind that the child has shown. For shared
  // children only.
  [[nodiscard]] Greeting begun() const { return handshake_.begun(); }
  [[nodiscard]] StartFailure start_failure() const { return handshake_.failure(); }
  [[nodiscard]] std::optional<PeerKind> peer_kind() const { return handshake_.peer_kind(); }
  // The facts that the process reported in its handshake; empty before that.
  [[nodiscard]] const ChildFacts& facts() const { return handshake_.facts(); }

  // The calls in flight.
  CallTable& calls() { return calls_; }
  // Takes a call back without an answer and tells the process so.
  call::CallPtr abandon(rpc::WireId id, CancelReason reason);
  // Abandoned calls that the process may still work on and report about. For shared children.
  [[nodiscard]] const AbandonedCalls& abandoned() const { return abandoned_; }
  // A message was withheld because of the abandoned calls.
  void note_withheld() {
    if (abandoned_.note_withheld()) log_.withheld(abandoned_.size());
  }
  // Asks the process, once, to cancel a call whose answer is still due.
  void request_cancel(rpc::WireId id, CancelReason reason);
  // Takes all calls back without telling the process.
  std::vector<call::CallPtr> take_calls() { return calls_.take_all(); }
  // Sets ready or busy, after calls have ended and others have been given to the child. A place
  // that is taken again at once is not reported.
  void settle_state() {
    if (state_ == ChildState::ready && calls_.full()) set_state(ChildState::busy);
    if (state_ == ChildState::busy && !calls_.full()) set_state(ChildState::ready);
  }

  [[nodiscard]] SignsOfLife& life() { return life_; }
  [[nodiscard]] const SignsOfLife& life() const { return life_; }
  // The calls of this session have waited for their client, and no longer do.
  void resume_clocks(session::SessionId of);
  // Whether the output is read. If not, the child may have said something that is not known yet.
  [[nodiscard]] bool is_read() const { return is_read_; }

  [[nodiscard]] ChildStatus status() const;

  // --- Called by ChildOutput, for each message in turn
  // Returns why an answer that no call waits for is wrong; null: it need not be reported.
  const char* on_answer(const rpc::Envelope& answer);
  // An answer to this id is too long, or no valid message.
  void on_unreadable_answer(rpc::WireId id, const rpc::FaultReport& report);
  // `method` is decoded.
  void on_notification(const rpc::Envelope& notification, std::string_view method);
  void on_request(const rpc::Envelope& request, std::string_view method);
  // The next messages omit the member "jsonrpc", or have it.
  void on_version_omitted(bool omitted) { input_.omit_version(omitted); }
  void on_broken_framing(const char* reason);

  // Ends the process if an invariant is broken. Not from inside of a call of the core.
  void check_invariants();

 private:
  // ChildEvents
  void on_started(int pid) override;
  void on_output(std::span<char> bytes) override;
  void on_output_end() override;
  void on_writable() override;
  void on_memory(uint64_t bytes) override;
  void on_exit(const ExitStatus& status) override;

  // A session's own child is stateful: only that kind has the handshake of a client.
  void note_peer_kind(call::Call& call) const {
    call.child_kind = isolation_ == config::Isolation::session ? PeerKind::stateful : peer_kind();
  }
  bool end_listening(const rpc::Envelope& notification, std::string_view method);
  void finish_upkeep(rpc::WireId id, const rpc::Envelope* answer);
  void note_answered(rpc::WireId id);
  const char* note_stray(std::optional<rpc::WireId> id, const rpc::Envelope& answer);
  void start_draining(ExitReason reason, std::string message);
  void give_up_start();

  // The caller has made sure that there is room.
  call::Call& open_upkeep(TimePoint deadline = TimePoint::max(),
                          std::optional<session::Severity> severity = std::nullopt) {
    call::Call* const call = calls_.open_upkeep(deadline, severity);
    STDGATE_CHECK(call != nullptr);
    return *call;
  }
  void greet();
  void send_greeting();
  bool take_late_discovery(rpc::WireId id, const rpc::Envelope& answer);
  void finish_greeting(const rpc::Envelope& answer);
  void hear_out();
  void become_ready();
  [[nodiscard]] bool takes_calls() const { return keeps_bound() && !calls_.full(); }
  // A session's child without work may go: a language server ends that way after `exit`.
  [[nodiscard]] bool is_done() const {
    return was_ready() && !lease_.is_none() && in_flight() == 0;
  }
  void set_state(ChildState state);
  void explain_end(ChildEnd& end);

  const PoolServices& services_;
  Pool& pool_;
  ChildListener& listener_;
  ChildName name_;
  const config::Isolation isolation_;
  session::SessionId lease_;
  bool retiring_ = false;
  Wear wear_;
  bool is_read_ = true;
  bool has_answered_ = false;
  ChildState state_ = ChildState::dead;
  TimePoint started_at_{};
  TimePoint ready_since_ = TimePoint::max();
  SignsOfLife life_;
  std::optional<ChildEnd> end_;  // set when the gateway itself ends the process

  CallTable calls_;
  call::CallQueue bound_;  // messages that wait for this child and no other one
  AbandonedCalls abandoned_;
  GivenUpCalls given_up_;
  ChildLog log_;
  ChildInput input_;
  ChildOutput output_;
  Handshake handshake_;
  Timer output_end_timer_;
  Farewell farewell_;
  std::unique_ptr<ChildLink> link_;
};

}  // namespace stdgate::pool
