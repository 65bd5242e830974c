#include "gateway/remote/link_remote.h"

#include <utility>

#include "gateway/remote/remote.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::remote {

namespace {

constexpr int kUnauthorized = 401;

// The `initialize` of MCP names a revision. That of a language server does not, and that of an
// agent (ACP) has a number.
bool is_mcp_greeting(const ClientMessage& message) {
  return message.is_greeting() &&
         rpc::member_or_empty(rpc::member_or_empty(message.text, "params"), "protocolVersion")
             .starts_with('"');
}

}  // namespace

LinkRemote::LinkRemote(std::string url, std::unique_ptr<RemoteLink> link,
                       const RemoteServices& services, Problem fallback_from)
    : url_(std::move(url)),
      services_(services),
      link_(std::move(link)),
      fallback_from_(std::move(fallback_from)),
      parser_({.version_optional = true}),
      queue_([this] { on_link_room(); }),
      backoff_(services.random),
      open_timer_(services.timers, [this] { open(); }),
      expiry_timer_(services.timers, [this] { expire(); }) {}

// --- Messages of the client ---------------------------------------------------------------------

void LinkRemote::take(ClientMessage message) {
  if (phase_ == Phase::over) return;
  const bool is_response =
      message.kind == rpc::MessageKind::result || message.kind == rpc::MessageKind::error;
  if (is_response && !message.is_batch && asked_.erase(message.id) == 0) return;
  if (!message.cancelled.empty()) {
    if (queue_.remove_request(message.cancelled)) return;
    // Its answer is not waited for: many servers give none.
    if (message.cancelled != greeting_id_) calls_.erase(message.cancelled);
  }
  if (phase_ == Phase::fresh) is_mcp_ = is_mcp_greeting(message) || message.is_modern();
  queue_.push(std::move(message), now() + kReconnectTime);
  if (phase_ == Phase::fresh) open();
  if (phase_ == Phase::open) flush();
  arm_expiry();
}

void LinkRemote::open() {
  phase_ = Phase::opening;
  link_->open(*this, is_mcp_);
}

void LinkRemote::flush() {
  while (phase_ == Phase::open) {
    const auto message = queue_.pop();
    if (!message) break;
    if (is_mcp_greeting(*message)) {
      memory_.learn(*message);
      greeting_id_ = message->id;
    } else if (message->is_greeting()) {
      has_other_session_ = true;
    } else if (!message->is_modern()) {
      memory_.learn(*message);
    }
    for (const std::string& id : message->requests) calls_.insert(id);
    link_->send(*message);
  }
}

// --- Messages of the server ---------------------------------------------------------------------

void LinkRemote::on_link_open() {
  is_known_ = true;
  has_new_credentials_ = false;
  if (memory_.has_greeting() && !memory_.revision().empty()) return renew();
  phase_ = Phase::open;
  backoff_.reset();
  flush();
}

void LinkRemote::on_link_text(std::span<char> text) {
  read_server_text(parser_, text, url_, services_.client, [this](const rpc::Envelope& envelope) {
    forward(envelope);
    return phase_ != Phase::over;
  });
}

void LinkRemote::forward(const rpc::Envelope& envelope) {
  const bool is_answer =
      envelope.kind == rpc::MessageKind::result || envelope.kind == rpc::MessageKind::error;
  if (is_answer) {
    if (take_own_answer(envelope)) return;
    if (envelope.id == greeting_id_) {
      greeting_id_.clear();
      if (envelope.kind == rpc::MessageKind::result) memory_.note_greeting(envelope);
    }
    if (calls_.erase(std::string(envelope.id)) == 0) return;  // late, repeated or invented
  } else if (envelope.kind == rpc::MessageKind::request) {
    if (asked_.size() >= kMaxAsked) return;
    asked_.emplace(envelope.id);
  }
  services_.client.send(envelope.text);
}

// Whether this answers a request that was repeated for a new session.
bool LinkRemote::take_own_answer(const rpc::Envelope& envelope) {
  if (phase_ != Phase::renewing || own_.erase(std::string(envelope.id)) == 0) return false;
  if (envelope.id == greeting_id_) {
    greeting_id_.clear();
    if (envelope.kind != rpc::MessageKind::result || !memory_.note_greeting(envelope)) {
      leave({Exit::lost, rpc::Fault::child_failed,
             shown_url(url_) + " does not begin the session again; start anew"});
      return true;
    }
    for (const ClientMessage& wish : memory_.wishes()) send(wish);
  }
  if (own_.empty()) renewed();
  return true;
}

void LinkRemote::on_link_room() {
  if (!is_full()) services_.client.on_room();
}

void LinkRemote::on_link_lost(const ClientMessage& message, const Problem& problem) {
  for (const std::string& id : message.requests) {
    if (calls_.erase(id) > 0) services_.client.send(answer_of(problem, id));
    if (own_.erase(id) > 0 && own_.empty() && phase_ == Phase::renewing) renewed();
  }
  if (!message.is_request()) services_.client.say(problem.message);
}

void LinkRemote::on_link_end(const LinkEnd& end) {
  if (phase_ == Phase::over) return;
  on_link_room();
  if (end.is_finished && has_other_session_ && calls_.empty()) return finish();
  const Problem& problem =
      !is_known_ && !fallback_from_.message.empty() ? fallback_from_ : end.problem;
  lose_calls(lost_answer(url_, problem.message));
  own_.clear();
  asked_.clear();
  greeting_id_.clear();
  if (end.status == kUnauthorized && !has_new_credentials_ && services_.authorizer.can_renew()) {
    has_new_credentials_ = true;
    phase_ = Phase::waiting;
    services_.authorizer.renew([this](const tl::expected<void, std::string>& renewed) {
      if (phase_ != Phase::waiting) return;
      if (renewed) return open();
      leave({Exit::refused, rpc::Fault::unauthenticated, renewed.error()});
    });
    return;
  }
  if (has_other_session_) {
    return leave({Exit::lost, rpc::Fault::child_failed,
                  problem.message + "; what the server kept for this client is gone"});
  }
  if (!is_known_) return leave(problem);
  if (phase_ == Phase::open) services_.client.say(problem.message + "; connecting again");
  phase_ = Phase::waiting;
  open_timer_.arm(now() + backoff_.next());
  arm_expiry();
}

// --- A new session in place of the lost one -----------------------------------------------------

void LinkRemote::renew() {
  phase_ = Phase::renewing;
  greeting_id_ = memory_.greeting().id;
  send(memory_.greeting());
}

void LinkRemote::send(const ClientMessage& message) {
  for (const std::string& id : message.requests) own_.insert(id);
  link_->send(message);
}

void LinkRemote::renewed() {
  phase_ = Phase::open;
  backoff_.reset();
  for (const std::string& notice : memory_.notices()) services_.client.send(notice);
  flush();
}

// --- Ends ---------------------------------------------------------------------------------------

void LinkRemote::lose_calls(const Problem& problem) {
  for (const std::string& id : std::exchange(calls_, {})) {
    services_.client.send(answer_of(problem, id));
  }
}

void LinkRemote::fail(const ClientMessage& message, const Problem& problem) {
  for (const std::string& id : message.requests) services_.client.send(answer_of(problem, id));
  if (!message.is_request()) services_.client.say(problem.message);
}

void LinkRemote::leave(const Problem& problem) {
  phase_ = Phase::over;
  link_->close();
  lose_calls(problem);
  for (const ClientMessage& message : queue_.take_all()) fail(message, problem);
  services_.client.say(problem.message);
  services_.client.leave(problem.exit);
}

// An `exit` that a language server was sent, for example, ends its session.
void LinkRemote::finish() {
  phase_ = Phase::over;
  link_->close();
  services_.client.leave(Exit::clean);
}

void LinkRemote::expire() {
  const Problem problem{Exit::unreachable, rpc::Fault::timeout,
                        shown_url(url_) + " could not be reached again in time"};
  while (phase_ != Phase::open) {
    const auto late = queue_.pop_due(now());
    if (!late) break;
    fail(*late, problem);
  }
  arm_expiry();
}

void LinkRemote::arm_expiry() {
  if (phase_ == Phase::open || phase_ == Phase::over || expiry_timer_.armed()) return;
  if (const auto due = queue_.next_due()) expiry_timer_.arm(*due);
}

void LinkRemote::close(std::function<void()> done) {
  phase_ = Phase::over;
  open_timer_.disarm();
  expiry_timer_.disarm();
  link_->close();
  done();
}

}  // namespace stdgate::remote
