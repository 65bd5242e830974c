#include "gateway/pool/child.h"

#include <utility>

#include "gateway/pool/splice.h"

namespace stdgate {

namespace {

// A message of this size weighs as much as one more call in flight, so that small calls do not
// queue behind a large one when another child has room.
constexpr size_t kBytesPerCall = 64 << 10;
// A child whose stdout has ended gets this long to end as well, so that its exit code is known.
constexpr Duration kExitAfterOutputEnd = std::chrono::milliseconds(100);
// Calls in a row that waited up to their deadline without a sign of life after which a child counts
// as hung.
constexpr uint32_t kHungAfterTimeouts = 3;
// Answers to a child's own requests are dropped when it does not read them.
constexpr size_t kMostUnsentAnswers = 2 * ChildLink::kHighWatermark;
constexpr uint32_t kBadLinesLoggedPerSecond = 10;

EnvelopeLimits child_envelope_limits(const LimitsConfig& limits) {
  EnvelopeLimits envelope;
  envelope.depth = limits.depth;
  envelope.batch = limits.batch;
  return envelope;
}

}  // namespace

Child::Child(const PoolServices& services, ChildOwner& owner, uint64_t number, Isolation lane)
    : services_(services),
      owner_(owner),
      number_(number),
      lane_(lane),
      parser_(child_envelope_limits(services.limits)),
      framer_(
          make_framer(services.config.framing, services.limits.message, services.core.storages)),
      calls_(services.config.pool.max_in_flight),
      bad_lines_(kBadLinesLoggedPerSecond),
      start_timer_(services.core.timers,
                   [this] {
                     end(ExitReason::start_timeout, "the child did not get ready in time",
                         Duration{0});
                   }),
      output_end_timer_(
          services.core.timers,
          [this] { end(ExitReason::broken_output, "the child closed its output", Duration{0}); }),
      farewell_timer_(services.core.timers, [this] { finish_farewell(); }) {}

Child::~Child() { set_state(ChildState::dead); }

void Child::start() {
  started_at_ = services_.core.clock.now();
  set_state(ChildState::starting);
  start_timer_.arm(started_at_ + services_.config.pool.start_timeout);
  link_ = services_.core.launcher.launch(services_.launch, *this);
}

void Child::end(ExitReason reason, std::string message, Duration grace) {
  if (state_ == ChildState::dead) return;
  start_draining(reason, std::move(message));
  link_->end(grace);
}

void Child::start_draining(ExitReason reason, std::string message) {
  if (!end_) end_ = ChildEnd{reason, std::move(message), {}, was_ready()};
  start_timer_.disarm();
  set_state(ChildState::draining);
  // What it leaves unread would keep back the news of its exit.
  set_reading(true);
}

void Child::dismiss(std::string message) {
  const Duration grace = services_.config.pool.grace;
  const bool may_talk = state_ == ChildState::ready || state_ == ChildState::busy;
  const auto id = may_talk ? open_own_call() : std::nullopt;
  const std::string text = id ? services_.dialect.farewell(*id) : std::string();
  if (text.empty()) {
    if (id) close_call(*id);
    return end(ExitReason::asked, std::move(message), grace / 2);
  }
  start_draining(ExitReason::asked, std::move(message));
  farewell_ = id;
  write_text(text);
  farewell_timer_.arm(services_.core.clock.now() + grace / 3);
}

void Child::finish_farewell() {
  farewell_.reset();
  farewell_timer_.disarm();
  write_text(services_.dialect.last_word());
  link_->end(services_.config.pool.grace / 3);
}

void Child::set_reading(bool reading) {
  if (reading == is_read_ || (end_ && !reading)) return;
  is_read_ = reading;
  if (reading) note_sign_of_life();  // it may have spoken all the time
  link_->set_reading(reading);
}

bool Child::takes_calls() const {
  return (state_ == ChildState::ready || state_ == ChildState::busy) && !calls_.full();
}

bool Child::has_room() const {
  return takes_calls() && !retiring_ && link_->unsent_bytes() < ChildLink::kHighWatermark;
}

bool Child::is_backed_up() const {
  return takes_calls() && link_->unsent_bytes() >= ChildLink::kHighWatermark;
}

size_t Child::load() const { return calls_.size() * kBytesPerCall + outstanding_bytes_; }

void Child::send(CallPtr call, const Outgoing& message) {
  call->written = services_.core.clock.now();
  call->child = number_;
  ++calls_sent_;
  outstanding_bytes_ += call->bytes_in;
  const bool is_cancelled = call->cancel_on_send;
  const auto id = calls_.open(std::move(call));
  settle_state();
  write(message, id);
  if (is_cancelled) request_cancel(*id, CancelReason::client_cancelled);
}

void Child::ask(const std::function<std::string(WireId)>& text, TimePoint deadline) {
  const auto id = open_own_call(deadline);
  settle_state();
  write_text(text(*id));
}

// A parser of its own: the child's may be in the middle of a batch.
Envelope Child::handshake_answer() {
  EnvelopeParser parser(child_envelope_limits(services_.limits));
  return parser.parse(handshake_answer_)->messages[0].envelope;
}

void Child::send_message(const Outgoing& message) { write(message, std::nullopt); }

void Child::request_cancel(WireId id, CancelReason reason) {
  if (std::exchange((*calls_.find(id))->cancelled, true)) return;
  const std::string text = services_.dialect.cancel(id, reason);
  if (!text.empty()) write_text(text);
}

CallPtr Child::abandon(WireId id, CancelReason reason) {
  request_cancel(id, reason);
  return close_call(id);
}

std::vector<CallPtr> Child::take_calls() {
  std::vector<CallPtr> taken;
  while (const auto id = calls_.oldest()) {
    CallPtr call = close_call(*id);
    if (!call->origin.is_none()) taken.push_back(std::move(call));
  }
  return taken;
}

bool Child::note_timeout(TimePoint waiting_since) {
  return is_read_ && last_sign_ <= waiting_since && ++silent_timeouts_ >= kHungAfterTimeouts;
}

void Child::note_sign_of_life() {
  last_sign_ = services_.core.clock.now();
  silent_timeouts_ = 0;
}

// Without an origin: nobody is to hear of its end.
std::optional<WireId> Child::open_own_call(TimePoint deadline) {
  CallPtr call = services_.calls.take();
  call->written = services_.core.clock.now();
  call->deadline = deadline;
  const auto id = calls_.open(std::move(call));
  own_calls_ += id ? 1 : 0;
  return id;
}

CallPtr Child::close_call(WireId id) {
  CallPtr call = calls_.close(id);
  if (call->origin.is_none()) --own_calls_;
  outstanding_bytes_ -= call->bytes_in;
  if (calls_.size() == 0) idle_since_ = services_.core.clock.now();
  return call;
}

void Child::write(const Outgoing& message, std::optional<WireId> id) {
  Splice splice(message, id);
  const FrameEnds ends = frame_ends(services_.config.framing, splice.size(), frame_head_);
  link_->write(splice.framed(ends.head, ends.tail));
}

void Child::write_text(std::string_view text) {
  Outgoing message;
  message.text = text;
  write(message, std::nullopt);
}

void Child::answer(std::string_view id, std::string_view result) {
  write_answer(id, R"("result":)", result);
}

void Child::refuse(std::string_view id, int code, std::string_view message) {
  std::string error = R"({"code":)" + std::to_string(code) + R"(,"message":)";
  append_json_string(error, message);
  error += '}';
  write_answer(id, R"("error":)", error);
}

void Child::write_answer(std::string_view id, std::string_view member, std::string_view value) {
  if (link_->unsent_bytes() > kMostUnsentAnswers) {
    services_.core.observer.on_dropped(services_.backend, DropReason::outbox_full);
    return;
  }
  std::string text = R"({"jsonrpc":"2.0","id":)";
  text.append(id).append(",").append(member).append(value).append("}");
  write_text(text);
}

// --- Its life ------------------------------------------------------------------------------

void Child::on_started(int pid) {
  pid_ = pid;
  services_.core.log.write(
      LogLevel::info, "child started",
      {{"backend", services_.config.name}, {"child", number_}, {"pid", static_cast<int64_t>(pid)}});
  if (state_ == ChildState::starting) greet();
}

void Child::greet() {
  const auto id = open_own_call();
  const bool is_shared = lane_ == Isolation::shared;
  const std::string text = is_shared ? services_.dialect.handshake(*id) : std::string();
  if (text.empty()) {
    close_call(*id);
    become_ready();
  } else {
    write_text(text);
  }
}

void Child::finish_greeting(const Envelope& answer) {
  if (state_ != ChildState::starting) return;
  const auto completion = services_.dialect.finish_handshake(answer);
  if (!completion) {
    end(ExitReason::start_failed, "the child refused the handshake", Duration{0});
    end_->detail = completion.error();
    return;
  }
  handshake_answer_ = answer.text;
  if (!completion->empty()) write_text(*completion);
  become_ready();
}

void Child::become_ready() {
  start_timer_.disarm();
  ready_since_ = idle_since_ = services_.core.clock.now();
  set_state(ChildState::ready);
  services_.core.observer.on_child_ready(services_.backend, ready_since_ - started_at_);
  owner_.on_child_ready(*this);
}

void Child::on_output(std::span<char> bytes) {
  note_sign_of_life();
  framer_->feed(bytes, *this);
}

void Child::on_output_end() {
  framer_->finish(*this);
  // One that has been asked to go may take its time.
  if (state_ == ChildState::dead || end_) return;
  link_->end(services_.config.pool.grace);
  // No more answers can come; but first let its exit say why.
  set_state(ChildState::draining);
  output_end_timer_.arm(services_.core.clock.now() + kExitAfterOutputEnd);
}

void Child::on_writable() {
  note_sign_of_life();
  owner_.on_child_writable(*this);
}

void Child::on_exit(const ExitStatus& status) {
  start_timer_.disarm();
  output_end_timer_.disarm();
  farewell_timer_.disarm();
  ChildEnd end = end_ ? *end_ : end_by_itself(status, was_ready());
  if (end_) end.detail += (end.detail.empty() ? "" : "; ") + exit_text(status);
  set_state(ChildState::dead);
  services_.core.log.write(end.reason == ExitReason::asked ? LogLevel::info : LogLevel::warn,
                           "child ended",
                           {{"backend", services_.config.name},
                            {"child", number_},
                            {"pid", static_cast<int64_t>(pid_)},
                            {"reason", exit_reason_name(end.reason)},
                            {"status", end.detail},
                            {"in_flight", static_cast<uint64_t>(calls_.size())}});
  owner_.on_child_gone(*this, end);
}

// --- State ----------------------------------------------------------------------------------

void Child::set_state(ChildState state) {
  if (state == state_) return;
  services_.core.observer.on_child_state(services_.backend, state_, state);
  state_ = state;
}

void Child::settle_state() {
  if (state_ == ChildState::ready && calls_.full()) set_state(ChildState::busy);
  if (state_ == ChildState::busy && !calls_.full()) set_state(ChildState::ready);
}

ChildStatus Child::status() const {
  ChildStatus status;
  status.number = number_;
  status.pid = pid_;
  status.state = state_;
  status.in_flight = in_flight();
  status.unsent_bytes = link_ == nullptr ? 0 : link_->unsent_bytes();
  status.calls = calls_sent_;
  status.leased = !lease_.is_none();
  status.age = services_.core.clock.now() - started_at_;
  return status;
}

}  // namespace stdgate
