#include "gateway/pool/child.h"

#include <utility>

#include "gateway/pool/message_log.h"
#include "gateway/pool/pool.h"

namespace stdgate::pool {

Child::Child(const PoolServices& services, Pool& pool, ChildListener& listener, uint64_t number,
             config::Isolation isolation, Greeting greeting, Introduction client)
    : services_(services),
      pool_(pool),
      listener_(listener),
      name_{number},
      isolation_(isolation),
      life_(isolation == config::Isolation::session),
      calls_(services, name_, isolation),
      bound_(services.config.pool, services.payer.held),
      log_(services, name_),
      input_(services, name_),
      output_(services, name_, log_, *this),
      handshake_(services, greeting, std::move(client), [this] { give_up_start(); }),
      output_end_timer_(
          services.core.timers,
          [this] { end(ExitReason::broken_output, "the child closed its output", Duration{0}); }),
      farewell_(services, input_) {}

Child::~Child() { set_state(ChildState::dead); }

void Child::start() {
  started_at_ = services_.core.clock.now();
  set_state(ChildState::starting);
  handshake_.start_timer();
  link_ = services_.core.launcher.launch(services_.launch, *this);
  link_->set_name(name_);
  input_.open(*link_);
}

void Child::set_client(SessionName session, std::string address, std::string principal) {
  name_.session = session;
  name_.client = std::move(address);
  name_.principal = std::move(principal);
  link_->set_name(name_);
  log_.served();
}

void Child::end(ExitReason reason, std::string message, Duration grace) {
  if (state_ == ChildState::dead) return;
  start_draining(reason, std::move(message));
  link_->end(grace);
}

void Child::start_draining(ExitReason reason, std::string message) {
  if (!end_) end_ = ChildEnd{reason, std::move(message), {}, was_ready()};
  log_.mute();
  handshake_.stop_timer();
  set_state(ChildState::draining);
  set_reading(true);  // unread output would delay the news of its exit
}

void Child::dismiss(std::string message) {
  const call::Call* const request = keeps_bound() ? calls_.open_upkeep() : nullptr;
  if (request != nullptr && farewell_.begin(request->wire_id, *link_)) {
    return start_draining(ExitReason::asked, std::move(message));
  }
  if (request != nullptr) calls_.close(request->wire_id);
  end(ExitReason::asked, std::move(message), services_.config.pool.grace / 2);
}

void Child::set_reading(bool reading) {
  if (reading == is_read_ || (end_ && !reading)) return;
  is_read_ = reading;
  if (reading) life_.note_writing(services_.core.clock.now());  // it may have spoken all the time
  link_->set_reading(reading);
}

void Child::send(call::CallPtr&& call, const call::Outgoing& message) {
  const bool is_cancelled = call->cancel_on_send;
  note_peer_kind(*call);
  const call::Call& sent = calls_.open(std::move(call));
  const rpc::WireId id = sent.wire_id;
  if (sent.greets) handshake_.note_request(id);
  settle_state();
  if (services_.logs_messages) log_sent(services_, sent, name_, id);
  input_.write(message, peer_kind(), id);
  if (is_cancelled) request_cancel(id, CancelReason::client_cancelled);
}

const call::Call& Child::hold(call::CallPtr&& call) {
  note_peer_kind(*call);
  call->cancelled = true;  // there is nothing to cancel
  const call::Call& held = calls_.open(std::move(call));
  settle_state();
  return held;
}

void Child::ask(const std::function<std::string(rpc::WireId)>& text, TimePoint deadline) {
  const call::Call& call = open_upkeep(deadline);
  settle_state();
  input_.write_text(text(call.wire_id));
}

void Child::set_severity(session::Severity severity, TimePoint deadline) {
  const call::Call& call = open_upkeep(deadline, severity);
  settle_state();
  input_.write_text(services_.dialect.set_severity(call.wire_id, severity));
}

rpc::WireId Child::greet_again(std::string_view params) {
  call::Call& call = open_upkeep();
  const rpc::WireId id = call.wire_id;
  call.introduces = true;
  handshake_.note_request(id);
  settle_state();
  input_.write_text(services_.dialect.greet(id, params));
  return id;
}

void Child::request_cancel(rpc::WireId id, CancelReason reason) {
  if (std::exchange(calls_.at(id).cancelled, true)) return;
  const std::string text = services_.dialect.cancel(id, reason);
  if (!text.empty()) input_.write_text(text);
}

call::CallPtr Child::abandon(rpc::WireId id, CancelReason reason) {
  request_cancel(id, reason);
  if (services_.logs_messages) log_ended(services_, calls_.at(id), name_, id, "call abandoned", 0);
  call::CallPtr call = calls_.close(id);
  given_up_.add(id, reason);
  // Calls of the gateway itself reveal nothing about a client; nor do calls that only listen.
  if (isolation_ == config::Isolation::shared && !call->caller.is_none() &&
      !CallTable::causes_nothing(*call)) {
    abandoned_.add(id, call->session);
  }
  return call;
}

void Child::resume_clocks(session::SessionId of) {
  const TimePoint now = services_.core.clock.now();
  if (isolation_ == config::Isolation::session) return life_.note_heard(now);
  calls_.note_heard(of, now);
}

// --- Output of the process -----------------------------------------------------------------

// An answer to this id has come, perhaps an unusable or late one.
void Child::note_answered(rpc::WireId id) {
  if (!abandoned_.empty()) abandoned_.finish(id);
  handshake_.note_answered(id);
}

const char* Child::on_answer(const rpc::Envelope& answer) {
  const auto id = rpc::parse_wire_id(answer.id);
  if (id) note_answered(*id);
  call::CallPtr call = id ? calls_.take(*id) : nullptr;
  if (call == nullptr) return note_stray(id, answer);
  has_answered_ = true;
  if (services_.logs_messages) {
    log_ended(services_, *call, name_, *id, "call answered", answer.text.size());
  }
  if (call->introduces) handshake_.learn(answer);
  if (!call->caller.is_none()) {
    pool_.on_child_answer(*this, std::move(call), answer);
  } else if (was_ready() || handshake_.awaits_pong()) {
    finish_upkeep(*id, &answer);
  } else {
    finish_greeting(answer);
  }
  return nullptr;
}

// Why this stray answer is wrong; null: it is only late.
const char* Child::note_stray(std::optional<rpc::WireId> id, const rpc::Envelope& answer) {
  if (id && take_late_discovery(*id, answer)) return nullptr;
  if (id && handshake_.is_past_probe(*id)) return nullptr;
  const auto given_up = id ? given_up_.find(*id) : std::nullopt;
  if (!given_up) {
    return id && calls_.has_ended(*id) ? "its call has been answered already"
                                       : "no call has had this id";
  }
  services_.drop(DropReason::unknown_id);
  log_.late_answer(answer.id, *given_up);
  return nullptr;
}

void Child::on_unreadable_answer(rpc::WireId id, const rpc::FaultReport& report) {
  note_answered(id);
  call::CallPtr call = calls_.take(id);
  if (call == nullptr) return;
  if (!call->caller.is_none()) {
    pool_.on_child_broken_answer(*this, std::move(call), report);
  } else if (was_ready() ? !farewell_.is(id) : handshake_.awaits_pong()) {
    finish_upkeep(id, nullptr);
  } else if (handshake_.is_probing() && handshake_.fall_back()) {
    send_greeting();
  } else {
    end(ExitReason::start_failed, report.message, Duration{0});
  }
}

void Child::finish_upkeep(rpc::WireId id, const rpc::Envelope* answer) {
  if (farewell_.is(id)) return farewell_.finish();
  if (was_ready()) return pool_.on_child_upkeep_answer(*this, id, answer);
  if (state_ == ChildState::starting) become_ready();
}

void Child::on_notification(const rpc::Envelope& notification, std::string_view method) {
  const std::string_view token = services_.dialect.progress_token(notification, method);
  if (token.empty()) {
    if (end_listening(notification, method)) return;
    return listener_.on_notification(*this, notification, method);
  }
  if (call::Call* call = calls_.with_token(token); call != nullptr) {
    call->heard = life_.last();
    // Another child begins to listen after the loss of the first one. The client need not know.
    if (call->listens && method == services_.dialect.traits().listening_begun &&
        std::exchange(call->has_begun, true)) {
      return;
    }
    listener_.on_event(*call, notification, place_of(token, notification.text));
  } else if (isolation_ == config::Isolation::session && !calls_.has_calls_alone()) {
    // Progress of a call that has ended still belongs to the session.
    listener_.on_notification(*this, notification, method);
  } else {
    services_.drop(DropReason::no_listener);
  }
}

// A stateless child can cancel nothing but calls that listen, and clients do not know the ids that
// it names.
bool Child::end_listening(const rpc::Envelope& notification, std::string_view method) {
  const std::string_view cancelled = services_.dialect.cancelled_by_child(notification, method);
  const auto id = rpc::parse_wire_id(cancelled);
  const call::Call* const call = id ? calls_.find(*id) : nullptr;
  if (call != nullptr && call->listens) {
    pool_.on_child_ended_listening(*this, calls_.close(*id));
    return true;
  }
  if (cancelled.empty() || peer_kind() != PeerKind::stateless) return false;
  services_.drop(DropReason::no_listener);
  return true;
}

// A stateless server asks its client by its answers. Its clients expect no requests.
void Child::on_request(const rpc::Envelope& request, std::string_view method) {
  if (peer_kind() != PeerKind::stateless) return listener_.on_request(*this, request, method);
  services_.drop(DropReason::no_listener);
  refuse(request.id, rpc::RpcError::method_not_found, "no server of this revision sends requests");
}

void Child::on_broken_framing(const char* reason) {
  end(ExitReason::broken_output, "the child broke the framing of its output", Duration{0});
  if (end_ && end_->detail.empty()) end_->detail = reason;
}

// --- Life cycle ----------------------------------------------------------------------------

void Child::on_started(int pid) {
  name_.pid = pid;
  log_.started();
  if (state_ == ChildState::starting) greet();
}

void Child::greet() {
  if (isolation_ == config::Isolation::session) return become_ready();
  send_greeting();
}

void Child::send_greeting() {
  const call::Call& request = open_upkeep();
  const std::string text = handshake_.request(request.wire_id);
  if (handshake_.is_probing()) {
    name_.probe = services_.dialect.traits().probe;
    link_->set_name(name_);
  }
  if (text.empty()) {
    calls_.close(request.wire_id);
    become_ready();
  } else {
    input_.write_text(text);
  }
}

void Child::finish_greeting(const rpc::Envelope& answer) {
  if (state_ != ChildState::starting) return;
  const bool was_probed = handshake_.is_probing();
  const auto completion = handshake_.finish(answer);
  if (!completion) {
    if (was_probed && handshake_.fall_back()) return send_greeting();
    if (handshake_.awaits_discovery()) return;
    end(ExitReason::start_failed, "the child refused the handshake", Duration{0});
    end_->detail = completion.error();
    return;
  }
  if (!completion->empty()) input_.write_text(*completion);
  if (handshake_.may_ask_first()) return hear_out();
  become_ready();
}

// A ping whose answer shows that the child has sent its first questions, which come before calls.
void Child::hear_out() {
  const call::Call& ping = open_upkeep();
  handshake_.note_ping();
  input_.write_text(services_.dialect.ping(ping.wire_id));
}

// The child answered the probe so late that it was greeted as a stateful child, and may behave as
// one from now on. So the gateway ends it, and greets the next child as a stateless one.
bool Child::take_late_discovery(rpc::WireId id, const rpc::Envelope& answer) {
  if (state_ != ChildState::starting) return false;
  const bool is_stateless = handshake_.finish_late(id, answer);
  if (is_stateless) {
    log_.begun_anew();
    end(ExitReason::asked, "the child speaks a newer revision than it was greeted with",
        Duration{0});
  } else if (handshake_.has_failed()) {
    end(ExitReason::start_failed, "the child refused the handshake", Duration{0});
  }
  return is_stateless;
}

void Child::become_ready() {
  handshake_.stop_timer();
  if (!std::exchange(name_.probe, {}).empty()) link_->set_name(name_);
  ready_since_ = services_.core.clock.now();
  set_state(ChildState::ready);
  services_.core.observer.on_child_ready(services_.backend, ready_since_ - started_at_);
  pool_.on_child_ready(*this);
}

void Child::give_up_start() {
  // The answer may be in the pipe, which is not read at the moment.
  if (!is_read_) return handshake_.start_timer();
  if (!was_ready() && handshake_.awaits_pong()) return become_ready();
  if (handshake_.is_probing() && handshake_.fall_back()) {
    calls_.close(handshake_.probe());
    return send_greeting();
  }
  end(was_ready() ? ExitReason::hung : ExitReason::start_timeout,
      handshake_.give_up(name_.pid != 0), Duration{0});
}

void Child::on_output(std::span<char> bytes) {
  life_.note_writing(services_.core.clock.now());
  output_.feed(bytes);
}

void Child::on_output_end() {
  output_.finish();
  if (state_ == ChildState::dead || end_) return;  // one that was asked to go may take its time
  link_->end(services_.config.pool.grace);
  set_state(ChildState::draining);
  constexpr Duration kExitAfterOutputEnd = std::chrono::milliseconds(100);
  // No more answers can come. The exit code, which says why, may follow; calls do not wait long.
  const Duration patience = is_done() ? services_.config.pool.grace : kExitAfterOutputEnd;
  output_end_timer_.arm(services_.core.clock.now() + patience);
}

void Child::on_writable() {
  life_.note_reading(services_.core.clock.now());
  pool_.on_child_writable(*this);
}

void Child::on_memory(uint64_t bytes) {
  wear_.memory = bytes;
  pool_.on_child_memory(*this);
}

void Child::on_exit(const ExitStatus& status) {
  output_.stop();
  handshake_.stop_timer();
  output_end_timer_.disarm();
  farewell_.stop();
  ChildEnd end = end_ ? *end_ : end_by_itself(status, was_ready());
  if (handshake_.was_given_up()) {
    end.detail = end.message;  // how it was killed is of no interest
  } else if (end_) {
    end.detail += (end.detail.empty() ? "" : "; ") + exit_text(status);
  }
  set_state(ChildState::dead);
  explain_end(end);
  pool_.on_child_gone(*this, end);
}

void Child::explain_end(ChildEnd& end) {
  const bool is_fine =
      end.reason == ExitReason::asked || (end.reason == ExitReason::exit_zero && is_done());
  const bool is_silent = handshake_.was_given_up() && name_.pid != 0;
  const std::string_view misfit = output_.misfit();
  end.hint = is_silent && misfit.empty() ? services_.dialect.traits().greeting_hint : misfit;
  end.last_words = link_->last_words();
  end.in_flight = calls_.size();
  log_.ended(end, is_fine, is_silent || end.reason == ExitReason::start_failed);
}

void Child::set_state(ChildState state) {
  if (state == state_) return;
  services_.core.observer.on_child_state(services_.backend, state_, state);
  state_ = state;
}

void Child::check_invariants() {
  calls_.check_invariants();
  STDGATE_CHECK(state_ != ChildState::dead || calls_.size() == 0);
  STDGATE_CHECK(state_ != ChildState::ready || !calls_.full());
  STDGATE_CHECK(state_ != ChildState::busy || calls_.full());
  bound_.check_invariants();
}

ChildStatus Child::status() const {
  ChildStatus status;
  status.number = name_.number;
  status.pid = name_.pid;
  status.state = state_;
  status.in_flight = in_flight();
  status.listening = in_flight() - working();
  status.unsent_bytes = link_ == nullptr ? 0 : link_->unsent_bytes();
  status.calls = calls_.sent();
  status.leased = !lease_.is_none();
  status.memory = wear_.memory;
  status.replaced_for = wear_.reason;
  status.waits_for = wear_.wait;
  status.facts = facts();
  status.age = services_.core.clock.now() - started_at_;
  return status;
}

}  // namespace stdgate::pool
