#include "gateway/backend/session_delivery.h"

#include <algorithm>
#include <optional>
#include <string>

#include "gateway/base/check.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::backend {

void SessionDelivery::on_event(const call::Call& call, const rpc::Envelope& notification,
                               TextPlace progress_token) {
  const auto parts = with_replaced(notification.text, progress_token, call.progress_token);
  const session::Session* session = call.alone ? nullptr : sessions_.listener(call.session);
  session::ReplySink* sink = call.wants_events ? callers_.find(call.caller) : nullptr;
  if (session == nullptr && sink == nullptr) return services_.drop(DropReason::no_listener);
  note_passed(notification.decoded_method(method_));
  services_.core.observer.on_message(services_.backend, Direction::to_client, parts);
  if (session != nullptr) {
    session->sink->on_message(call.tag, parts);
  } else {
    std::string whole;
    for (const std::string_view part : parts) whole += part;
    sink->on_event(call.tag, whole);
  }
}

void SessionDelivery::on_notification(pool::Child& child, const rpc::Envelope& notification,
                                      std::string_view method) {
  if (child.isolation() == config::Isolation::session) {
    const session::Session* const owner = sessions_.listener(child.lease());
    if (owner != nullptr && !may_say(*owner, notification, method)) {
      return services_.drop(DropReason::denied);
    }
  }
  const bool has_clients = child.isolation() == config::Isolation::shared || is_of_trip(child);
  const pool::Audience audience =
      has_clients ? services_.dialect.audience(notification, method) : pool::Audience();
  const std::string_view cancelled = services_.dialect.cancelled_by_child(notification, method);
  const bool is_passed = cancelled.empty()
                             ? pass_notification(child, notification, method, audience)
                             : pass_cancel(child, notification, cancelled);
  const bool is_streamed = cancelled.empty() && pass_to_only_stream(child, notification, audience);
  const bool is_listened = bridge_.pass_to_listeners(child, notification, audience.list);
  if (is_passed || is_streamed || is_listened) {
    note_passed(method);
  } else {
    services_.drop(DropReason::no_listener);
  }
}

// Not for notifications of subscribers, nor for cancels of a child's own requests.
bool SessionDelivery::pass_to_only_stream(pool::Child& child, const rpc::Envelope& notification,
                                          const pool::Audience& audience) {
  const call::Call* const only = child.calls().only();
  const bool is_of_subscribers = audience.kind == pool::Audience::Kind::subscribers &&
                                 sessions_.wishes().subscriptions().has_or_had_any(child.number());
  if (only == nullptr || !only->wants_events || is_of_subscribers ||
      !wants_of_call(child, *only, audience)) {
    return false;
  }
  if (!child.abandoned().empty()) {
    child.note_withheld();
    return false;
  }
  session::ReplySink* const sink = callers_.find(only->caller);
  if (sink == nullptr) return false;
  services_.core.observer.on_message(services_.backend, Direction::to_client,
                                     {&notification.text, 1});
  sink->on_event(only->tag, notification.text);
  child.life().note_heard();
  return true;
}

bool SessionDelivery::pass_notification(pool::Child& child, const rpc::Envelope& notification,
                                        std::string_view method, const pool::Audience& audience) {
  if (child.isolation() == config::Isolation::session) {
    const session::Session* session = sessions_.listener(child.lease());
    if (session == nullptr) return false;
    sessions_.questions().audit().note_told(*session, notification, method);
    sessions_.tell(*session, {&notification.text, 1});
    return true;
  }
  if (services_.config.isolation == config::Isolation::session) return false;
  switch (audience.kind) {
    case pool::Audience::Kind::everybody:
      return pass_to_everybody(notification);
    case pool::Audience::Kind::caller: {
      const session::Session* session = only_session(child);
      if (session == nullptr || !wants(child, session, audience)) return false;
      child.life().note_heard();
      sessions_.tell(*session, {&notification.text, 1});
      return true;
    }
    case pool::Audience::Kind::subscribers:
      break;
  }
  return pass_to_subscribers(child.number(), notification, rpc::decode_string(audience.key, key_));
}

bool SessionDelivery::may_say(const session::Session& session, const rpc::Envelope& message,
                              std::string_view method) {
  if (rules_.lets_agent(session.principal.get(), method)) return true;
  sessions_.questions().audit().record_denied(session, message, method);
  return false;
}

bool SessionDelivery::pass_to_everybody(const rpc::Envelope& notification) {
  // Receivers that have to queue the notification share one copy.
  const SharedOffer offer(services_.core.storages, notification.text, services_.payer);
  bool is_told = false;
  sessions_.for_each([&](const session::Session& session) {
    if (!session.is_of_client() || session.has_ended) return;
    sessions_.tell(session, {&notification.text, 1});
    is_told = true;
  });
  return is_told;
}

bool SessionDelivery::wants_of_call(const pool::Child& child, const call::Call& call,
                                    const pool::Audience& audience) const {
  if (call.client_kind != PeerKind::stateless) return wants(child, nullptr, audience);
  if (audience.severity) return call.severity && *audience.severity >= *call.severity;
  return audience.kind == pool::Audience::Kind::caller;
}

bool SessionDelivery::pass_to_subscribers(uint64_t child, const rpc::Envelope& notification,
                                          std::string_view key) {
  if (!sessions_.wishes().subscriptions().has_any(child) ||
      key.size() > session::Subscriptions::kMaxKey)
    return false;
  for (; !key.empty(); key = services_.dialect.enclosing(key)) {
    const std::vector<session::SessionId>* subscribers =
        sessions_.wishes().subscriptions().find(child, key);
    if (subscribers == nullptr) continue;
    const SharedOffer offer(services_.core.storages, notification.text, services_.payer);
    for (const session::SessionId id : *subscribers) {
      const session::Session* const session = sessions_.find(id);
      STDGATE_CHECK(session != nullptr);
      sessions_.tell(*session, {&notification.text, 1});
    }
    return true;
  }
  return false;
}

void SessionDelivery::on_request(pool::Child& child, const rpc::Envelope& request,
                                 std::string_view method) {
  if (child.isolation() == config::Isolation::shared || is_of_trip(child)) {
    const std::string_view result = services_.dialect.answer_child(method);
    if (!result.empty()) return child.answer(request.id, result);
  }
  session::Session* session = asked(child, request, method);
  if (session == nullptr || !session->sink->awaits_requests()) {
    bridge_.note_ask(child, request, method);
    return child.refuse(request.id, rpc::RpcError::method_not_found,
                        "no client here takes requests");
  }
  if (!may_say(*session, request, method)) {
    return child.refuse(request.id, rpc::RpcError::method_not_found, "Method not found");
  }
  session::Ask ask{child.number(), std::string(request.id)};
  ask.method = methods_.learn(method, services_.core.clock.now());
  ask.notes = sessions_.questions().audit().notes_of(*session, request, method);
  if (!sessions_.questions().ask(*session, std::move(ask), {}, request)) {
    child.refuse(request.id, rpc::RpcError::internal_error,
                 "the client has too many unanswered requests");
  }
}

// A child that was greeted for one client may ask what other clients have not declared.
session::Session* SessionDelivery::asked(pool::Child& child, const rpc::Envelope& request,
                                         std::string_view method) {
  session::Session* const turns = sessions_.listener(sessions_.turns());
  if (turns != nullptr && (sessions_.is_turn_taken() || !child.was_ready())) return turns;
  session::Session* const only = only_session(child);
  if (only == nullptr || turns == nullptr) return only;
  return bridge_.may_be_asked(only->greeting, request, method) ? only : nullptr;
}

session::Session* SessionDelivery::only_session(pool::Child& child) {
  if (child.isolation() == config::Isolation::session) return sessions_.listener(child.lease());
  // The request may concern a call without a session; then no other client may see it.
  const auto only = child.calls().only_session();
  if (!only) return nullptr;
  // The child may still be reporting about an abandoned call.
  const pool::AbandonedCalls& abandoned = child.abandoned();
  const session::SessionId caller = only->is_none() ? abandoned.some_session() : *only;
  if (abandoned.are_all_of(caller)) return sessions_.listener(caller);
  if (!only->is_none()) child.note_withheld();
  return nullptr;
}

bool SessionDelivery::pass_cancel(pool::Child& child, const rpc::Envelope& notification,
                                  std::string_view id) {
  const auto ask = sessions_.questions().of_children().find(child.number(), id);
  if (!ask) return false;
  const session::Session& session = ask->asks->session();
  sessions_.tell(session, with_replaced(notification.text, place_of(id, notification.text),
                                        std::to_string(ask->id)));
  if (services_.dialect.traits().cancel_ends_call) {
    sessions_.questions().note_end(session.id, ask->asks->close(ask->id, QuestionEnd::withdrawn));
  }
  return true;
}

// Stateless children do not count, because their sessions listen: see Bridge.
void ListNotices::note_gone(const pool::Child& child) {
  if (child.peer_kind() == PeerKind::stateless || child.facts().capabilities.empty()) return;
  of_gone_ = child.facts().changing_lists;
}

void ListNotices::tell() {
  uint8_t of_shared = 0;
  bool is_known = false;
  for (const auto& child : pool_.children()) {
    const uint8_t lists = child->facts().changing_lists;
    tell_listeners(*child, lists);
    if (child->isolation() != config::Isolation::shared ||
        child->peer_kind() == PeerKind::stateless)
      continue;
    of_shared = static_cast<uint8_t>(of_shared | lists);
    is_known = is_known || !child->facts().capabilities.empty();
  }
  if (!is_known) of_shared = of_gone_;
  const bool shares = services_.config.isolation == config::Isolation::shared;
  sessions_.tell_changed([&](session::SessionId session) -> uint8_t {
    const pool::SessionMemory* const memory = pool_.lane().memory_of(session);
    if (memory == nullptr) return shares ? of_shared : 0;
    return memory->terms() ? memory->terms()->changing : 0;
  });
}

void ListNotices::tell_listeners(pool::Child& child, uint8_t lists) const {
  std::string method;
  for (const std::string_view notice : services_.dialect.change_notices(lists)) {
    const rpc::KnownMessage known{std::string(notice)};
    const rpc::Envelope& notification = known.envelope();
    const pool::Audience audience =
        services_.dialect.audience(notification, notification.decoded_method(method));
    bridge_.pass_to_listeners(child, notification, audience.list);
  }
}

}  // namespace stdgate::backend
