// What a child says: its answers, its notifications and requests, and what is none of these.
#include <string>
#include <utility>

#include "gateway/pool/child.h"
#include "gateway/rpc/json_member.h"

namespace stdgate {

namespace {

constexpr size_t kLoggedTextBytes = 256;

}  // namespace

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
  CallPtr call = close_call(*id);
  if (!call->origin.is_none()) {
    owner_.on_child_answer(*this, std::move(call), answer);
  } else if (was_ready()) {
    finish_own_call(*id);
  } else {
    finish_greeting(answer);
  }
}

void Child::handle_unreadable_answer(WireId id, const FaultReport& report) {
  CallPtr call = close_call(id);
  if (!call->origin.is_none()) {
    owner_.on_child_broken_answer(*this, std::move(call), report);
  } else if (was_ready() && farewell_ != id) {
    finish_own_call(id);
  } else {
    end(ExitReason::start_failed, report.message, Duration{0});
  }
}

void Child::finish_own_call(WireId id) {
  if (farewell_ == id) return finish_farewell();
  owner_.on_child_writable(*this);
}

// A response that is none still ends the call that it names; it is not passed on as it is. One with
// neither result nor error is a response as well: nothing else has an id and no method.
void Child::handle_broken(const ParsedMessage& message) {
  const auto id = parse_wire_id(message.envelope.id);
  const auto method = find_member(message.envelope.text, "method");
  const bool names_method = method || method.error() == MemberError::duplicate;
  drop(DropReason::not_rpc, message.rejection, {});
  if (!id || names_method || calls_.find(*id) == nullptr) return;
  handle_unreadable_answer(
      *id,
      {Fault::child_failed, "the child's answer is no JSON-RPC response", message.rejection, {}});
}

void Child::handle_notification(const Envelope& notification) {
  const std::string_view method = decode_string(notification.method, method_);
  const std::string_view token = services_.dialect.progress_token(notification, method);
  if (token.empty()) return owner_.on_child_notification(*this, notification, method);
  if (const Call* call = call_with_token(token); call != nullptr) {
    const auto offset = static_cast<size_t>(token.data() - notification.text.data());
    owner_.on_child_event(*call, notification, {offset, token.size()});
  } else if (lane_ == Isolation::session) {
    // What goes on after its call belongs to the client all the same.
    owner_.on_child_notification(*this, notification, method);
  } else {
    services_.core.observer.on_dropped(services_.backend, DropReason::no_listener);
  }
}

// A child that belongs to a session got its client's own tokens, others got wire ids.
const Call* Child::call_with_token(std::string_view token) {
  if (lane_ == Isolation::shared) {
    const auto id = parse_wire_id(token);
    const CallPtr* call = id ? calls_.find(*id) : nullptr;
    return call != nullptr && !(*call)->progress_token.empty() ? call->get() : nullptr;
  }
  for (auto id = calls_.oldest(); id; id = calls_.next(*id)) {
    const Call* call = calls_.find(*id)->get();
    if (call->progress_token == token) return call;
  }
  return nullptr;
}

void Child::handle_request(const Envelope& request) {
  owner_.on_child_request(*this, request, decode_string(request.method, method_));
}

void Child::on_oversized_frame(std::string_view id, size_t size) {
  drop(DropReason::oversized, "message over limits.message", {});
  const auto wire_id = parse_wire_id(id);
  if (!wire_id || calls_.find(*wire_id) == nullptr) return;
  handle_unreadable_answer(*wire_id, {Fault::too_large,
                                      "the child's answer is larger than limits.message",
                                      std::to_string(size) + " bytes",
                                      {}});
}

void Child::on_broken_framing(const char* reason) {
  end(ExitReason::broken_output, "the child broke the framing of its output", Duration{0});
  if (end_->detail.empty()) end_->detail = reason;
}

void Child::drop(DropReason reason, std::string_view why, std::string_view text) {
  services_.core.observer.on_dropped(services_.backend, reason);
  // One that has been asked to go may say what it likes.
  if (end_) return;
  if (!bad_lines_.allow(services_.core.clock.now())) return;
  services_.core.log.write(LogLevel::warn, "child output dropped",
                           {{"backend", services_.config.name},
                            {"pid", static_cast<int64_t>(pid_)},
                            {"reason", drop_reason_name(reason)},
                            {"why", why},
                            {"text", text.substr(0, kLoggedTextBytes)},
                            {"suppressed", bad_lines_.take_suppressed()}});
}

}  // namespace stdgate
