#include "gateway/pool/child.h"

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "gateway/rpc/json_member.h"

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
constexpr size_t kLoggedTextBytes = 256;

EnvelopeLimits child_envelope_limits(const LimitsConfig& limits) {
  EnvelopeLimits envelope;
  envelope.depth = limits.depth;
  envelope.batch = limits.batch;
  return envelope;
}

std::string exit_text(const ExitStatus& status) {
  switch (status.kind) {
    case ExitStatus::Kind::exited:
      return "exited with code " + std::to_string(status.value);
    case ExitStatus::Kind::signaled: {
      const char* name = sigabbrev_np(status.value);
      return "was killed by signal " + std::to_string(status.value) +
             (name == nullptr ? "" : std::string(" (SIG") + name + ")");
    }
    case ExitStatus::Kind::not_started:
      break;
  }
  return "could not be started";
}

}  // namespace

Child::Child(const PoolServices& services, ChildOwner& owner, uint64_t number)
    : services_(services),
      owner_(owner),
      number_(number),
      parser_(child_envelope_limits(services.limits)),
      framer_(make_framer(services.config.framing, services.limits.message)),
      calls_(services.config.pool.max_in_flight),
      bad_lines_(kBadLinesLoggedPerSecond),
      start_timer_(services.core.timers,
                   [this] {
                     end(ExitReason::start_timeout, "the child did not get ready in time",
                         Duration{0});
                   }),
      output_end_timer_(services.core.timers, [this] {
        end(ExitReason::broken_output, "the child closed its output", Duration{0});
      }) {}

Child::~Child() { set_state(ChildState::dead); }

void Child::start() {
  started_at_ = services_.core.clock.now();
  set_state(ChildState::starting);
  start_timer_.arm(started_at_ + services_.config.pool.start_timeout);
  link_ = services_.core.launcher.launch(services_.launch, *this);
}

void Child::end(ExitReason reason, std::string message, Duration grace) {
  if (state_ == ChildState::dead) return;
  if (!end_) {
    end_ = ChildEnd{reason, std::move(message), {}, was_ready()};
  }
  start_timer_.disarm();
  set_state(ChildState::draining);
  link_->end(grace);
}

bool Child::has_room() const {
  return state_ == ChildState::ready && link_->unsent_bytes() < ChildLink::kHighWatermark;
}

bool Child::is_backed_up() const {
  return state_ == ChildState::ready && link_->unsent_bytes() >= ChildLink::kHighWatermark;
}

size_t Child::load() const { return calls_.size() * kBytesPerCall + outstanding_bytes_; }

void Child::send(Call call, const Outgoing& message) {
  call.written = services_.core.clock.now();
  ++calls_sent_;
  outstanding_bytes_ += call.bytes_in;
  const auto id = calls_.open(std::move(call));
  update_busy();
  write(message, id);
}

// A parser of its own: the child's may be in the middle of a batch.
Envelope Child::handshake_answer() {
  EnvelopeParser parser(child_envelope_limits(services_.limits));
  return parser.parse(handshake_answer_)->messages[0].envelope;
}

void Child::send_notification(const Outgoing& message) { write(message, std::nullopt); }

void Child::request_cancel(WireId id, CancelReason reason) {
  if (std::exchange(calls_.find(id)->cancelled, true)) return;
  const std::string text = services_.dialect.cancel(id, reason);
  if (!text.empty()) write_text(text);
}

Call Child::abandon(WireId id, CancelReason reason) {
  request_cancel(id, reason);
  return close_call(id);
}

std::vector<Call> Child::take_calls() {
  std::vector<Call> taken;
  while (const auto id = calls_.oldest()) {
    Call call = close_call(*id);
    if (!call.origin.is_none()) taken.push_back(std::move(call));
  }
  return taken;
}

bool Child::note_timeout(TimePoint waiting_since) {
  return last_sign_ <= waiting_since && ++silent_timeouts_ >= kHungAfterTimeouts;
}

void Child::note_sign_of_life() {
  last_sign_ = services_.core.clock.now();
  silent_timeouts_ = 0;
}

Call Child::close_call(WireId id) {
  Call call = calls_.close(id);
  outstanding_bytes_ -= call.bytes_in;
  if (calls_.size() == 0) idle_since_ = services_.core.clock.now();
  update_busy();
  return call;
}

// Splices the wire id, and the same number as progress token, into the client's bytes.
void Child::write(const Outgoing& message, std::optional<WireId> id) {
  std::array<char, 10> digits{};
  std::string_view number;
  if (id) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *id).ptr;
    number = {digits.data(), static_cast<size_t>(end - digits.data())};
  }
  Outgoing::Place first = message.id;
  Outgoing::Place second = message.progress_token;
  if (second.length > 0 && second.offset < first.offset) std::swap(first, second);

  std::array<std::string_view, 7> parts;
  size_t count = 1;  // parts[0] is the frame's head
  size_t size = 0;
  size_t at = 0;
  const auto add = [&](std::string_view part) {
    parts[count++] = part;
    size += part.size();
  };
  for (const Outgoing::Place place : {first, second}) {
    if (place.length == 0) continue;
    add(message.text.substr(at, place.offset - at));
    add(number);
    at = place.offset + place.length;
  }
  add(message.text.substr(at));
  const FrameEnds ends = frame_ends(services_.config.framing, size, frame_head_);
  parts[0] = ends.head;
  parts[count++] = ends.tail;
  link_->write(std::span(parts.data(), count));
}

void Child::write_text(std::string_view text) {
  write(Outgoing{text, {}, {}, false}, std::nullopt);
}

// --- What the process says ------------------------------------------------------------------

void Child::on_started(int pid) {
  pid_ = pid;
  services_.core.log.write(
      LogLevel::info, "child started",
      {{"backend", services_.config.name}, {"child", number_}, {"pid", static_cast<int64_t>(pid)}});
  if (state_ == ChildState::starting) greet();
}

void Child::greet() {
  const auto id = calls_.open(Call{});
  const std::string text = services_.dialect.handshake(*id);
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
  const ChildEnd end = describe_end(status);
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

ChildEnd Child::describe_end(const ExitStatus& status) const {
  const std::string text = exit_text(status);
  ChildEnd end;
  if (end_) {
    end = *end_;
    end.detail = end.detail.empty() ? text : end.detail + "; " + text;
    return end;
  }
  end.was_ready = was_ready();
  end.message = "the child " + text;
  end.detail = status.reason.empty() ? text : text + ": " + status.reason;
  if (!end.was_ready) {
    end.reason = ExitReason::start_failed;
  } else if (status.kind == ExitStatus::Kind::signaled) {
    end.reason = ExitReason::signal;
  } else {
    end.reason = status.value == 0 ? ExitReason::exit_zero : ExitReason::exit_nonzero;
  }
  return end;
}

void Child::on_frame(std::span<char> message) {
  if (state_ == ChildState::dead) return;
  const std::string_view text(message.data(), message.size());
  const auto document = parser_.parse(message);
  if (!document) {
    const bool is_json = document.error().fault != Fault::parse_error;
    // A line that is no JSON is somebody's debug output, not a payload: it may be shown.
    drop(is_json ? DropReason::not_rpc : DropReason::not_json, document.error().reason,
         is_json ? std::string_view() : text);
    return;
  }
  for (const ParsedMessage& parsed : document->messages) handle(parsed);
}

void Child::handle(const ParsedMessage& message) {
  if (!message.ok()) {
    handle_broken(message);
    return;
  }
  switch (message.envelope.kind) {
    case MessageKind::result:
    case MessageKind::error:
      handle_answer(message.envelope);
      break;
    case MessageKind::notification:
      handle_notification(message.envelope);
      break;
    case MessageKind::request:
      handle_request(message.envelope);
      break;
  }
}

void Child::handle_answer(const Envelope& answer) {
  const auto id = parse_wire_id(answer.id);
  if (!id || calls_.find(*id) == nullptr) {
    drop(DropReason::unknown_id, "answer to nothing in flight", {});
    return;
  }
  Call call = close_call(*id);
  if (call.origin.is_none()) {
    finish_greeting(answer);
  } else {
    owner_.on_child_answer(*this, std::move(call), answer);
  }
}

// A response that is none still ends the call that it names; it is not passed on as it is. One with
// neither result nor error is a response as well: nothing else has an id and no method.
void Child::handle_broken(const ParsedMessage& message) {
  const auto id = parse_wire_id(message.envelope.id);
  const auto method = find_member(message.envelope.text, "method");
  const bool names_method = method || method.error() == MemberError::duplicate;
  drop(DropReason::not_rpc, message.rejection, {});
  if (!id || names_method || calls_.find(*id) == nullptr) return;
  Call call = close_call(*id);
  FaultReport report{Fault::child_failed, "the child's answer is no JSON-RPC response", {}, {}};
  report.detail = message.rejection;
  if (call.origin.is_none()) {
    end(ExitReason::start_failed, report.message, Duration{0});
  } else {
    owner_.on_child_broken_answer(*this, std::move(call), report);
  }
}

void Child::handle_notification(const Envelope& notification) {
  const std::string_view method = decode_string(notification.method, method_);
  const std::string_view token = services_.dialect.progress_token(notification, method);
  if (!token.empty()) {
    const auto id = parse_wire_id(token);
    const Call* call = id ? calls_.find(*id) : nullptr;
    if (call != nullptr && !call->progress_token.empty()) {
      const auto offset = static_cast<size_t>(token.data() - notification.text.data());
      owner_.on_child_event(*call, notification, {offset, token.size()});
      return;
    }
  } else if (calls_.size() == 1) {
    // Nothing says which call it belongs to, but there is only one.
    const Call* call = calls_.find(*calls_.oldest());
    if (call->wants_events) {
      owner_.on_child_event(*call, notification, {});
      return;
    }
  }
  services_.core.observer.on_dropped(services_.backend, DropReason::no_listener);
}

void Child::handle_request(const Envelope& request) {
  if (link_->unsent_bytes() > kMostUnsentAnswers) {
    services_.core.observer.on_dropped(services_.backend, DropReason::outbox_full);
    return;
  }
  const std::string_view method = decode_string(request.method, method_);
  const std::string_view result = services_.dialect.answer_child(method);
  std::string answer = R"({"jsonrpc":"2.0","id":)";
  answer += request.id;
  if (result.empty()) {
    answer += R"(,"error":{"code":-32601,"message":"no client here takes requests"}})";
  } else {
    answer += R"(,"result":)";
    answer += result;
    answer += '}';
  }
  write_text(answer);
}

void Child::on_oversized_frame(std::string_view id, size_t size) {
  drop(DropReason::oversized, "message over limits.message", {});
  const auto wire_id = parse_wire_id(id);
  if (!wire_id || calls_.find(*wire_id) == nullptr) return;
  Call call = close_call(*wire_id);
  FaultReport report{Fault::too_large, "the child's answer is larger than limits.message", {}, {}};
  report.detail = std::to_string(size) + " bytes";
  if (call.origin.is_none()) {
    end(ExitReason::start_failed, report.message, Duration{0});
  } else {
    owner_.on_child_broken_answer(*this, std::move(call), report);
  }
}

void Child::on_broken_framing(const char* reason) {
  end(ExitReason::broken_output, "the child broke the framing of its output", Duration{0});
  if (end_->detail.empty()) end_->detail = reason;
}

void Child::drop(DropReason reason, std::string_view why, std::string_view text) {
  services_.core.observer.on_dropped(services_.backend, reason);
  if (!bad_lines_.allow(services_.core.clock.now())) return;
  services_.core.log.write(LogLevel::warn, "child output dropped",
                           {{"backend", services_.config.name},
                            {"pid", static_cast<int64_t>(pid_)},
                            {"reason", drop_reason_name(reason)},
                            {"why", why},
                            {"text", text.substr(0, kLoggedTextBytes)},
                            {"suppressed", bad_lines_.take_suppressed()}});
}

// --- State ----------------------------------------------------------------------------------

void Child::set_state(ChildState state) {
  if (state == state_) return;
  services_.core.observer.on_child_state(services_.backend, state_, state);
  state_ = state;
}

void Child::update_busy() {
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
  status.age = services_.core.clock.now() - started_at_;
  return status;
}

}  // namespace stdgate
