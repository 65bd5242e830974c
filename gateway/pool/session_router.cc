#include "gateway/pool/session_router.h"

#include <array>
#include <string>
#include <utility>

namespace stdgate {

namespace {

constexpr int kMethodNotFound = -32601;  // JSON-RPC 2.0 section 5.1
constexpr int kInternalError = -32603;

// The message with the id `id` in the place of its own.
std::array<std::string_view, 3> with_id(std::string_view text, std::string_view place,
                                        std::string_view id) {
  const auto offset = static_cast<size_t>(place.data() - text.data());
  return {text.substr(0, offset), id, text.substr(offset + place.size())};
}

}  // namespace

tl::expected<SessionId, FaultReport> SessionRouter::open(Origin origin, SessionSink& sink) {
  const auto id = sessions_.acquire();
  if (!id) {
    return tl::unexpected(FaultReport{
        Fault::overloaded, "too many sessions of this backend", {}, std::chrono::seconds(1)});
  }
  if (pool_.is_draining()) {
    sessions_.release(*id);
    return tl::unexpected(Pool::shutdown_report());
  }
  if (services_.config.isolation == Isolation::session) {
    const auto lease = pool_.open_lease(*id);
    if (!lease) {
      sessions_.release(*id);
      return tl::unexpected(lease.error());
    }
  }
  Session& session = *sessions_.find(*id);
  session.origin = origin;
  session.sink = &sink;
  if (!reading_) sink.set_reading(false);
  services_.core.observer.on_session_opened(services_.backend);
  return *id;
}

void SessionRouter::close(SessionId id) {
  Session& session = *sessions_.find(id);
  const auto asks = std::move(session.asks);
  sessions_.release(id);
  services_.core.observer.on_session_closed(services_.backend);
  subscriptions_.close(id);
  if (asks == nullptr) return;
  while (const auto oldest = asks->oldest()) {
    const Ask ask = asks->close(*oldest);
    pool_.find_child(ask.child)->refuse(ask.id, kInternalError, "the client has left");
  }
}

// --- From a child ---------------------------------------------------------------------------

bool SessionRouter::pass_notification(Child& child, const Envelope& notification,
                                      std::string_view method, const Audience& audience) {
  const std::string_view cancelled = services_.dialect.cancelled_by_child(notification, method);
  if (!cancelled.empty()) return pass_cancel(child, notification, cancelled);
  if (child.lane() == Isolation::session) {
    const Session* session = sessions_.find(child.lease());
    if (session != nullptr) tell(*session, {&notification.text, 1});
    return session != nullptr;
  }
  if (services_.config.isolation == Isolation::session) return false;
  switch (audience.kind) {
    case Audience::Kind::everybody:
      sessions_.for_each([&](SessionId, const Session& session) {
        tell(session, {&notification.text, 1});
      });
      return sessions_.size() > 0;
    case Audience::Kind::caller: {
      const Session* session = only_session(child);
      if (session != nullptr) tell(*session, {&notification.text, 1});
      return session != nullptr;
    }
    case Audience::Kind::subscribers:
      break;
  }
  return pass_to_subscribers(child.number(), notification, decode_string(audience.key, key_));
}

bool SessionRouter::pass_to_subscribers(uint64_t child, const Envelope& notification,
                                        std::string_view key) {
  if (!subscriptions_.has_any(child) || key.size() > Subscriptions::kLongestKey) return false;
  for (; !key.empty(); key = services_.dialect.enclosing(key)) {
    const std::vector<SessionId>* subscribers = subscriptions_.find(child, key);
    if (subscribers == nullptr) continue;
    for (const SessionId id : *subscribers) tell(*sessions_.find(id), {&notification.text, 1});
    return true;
  }
  return false;
}

void SessionRouter::pass_request(Child& child, const Envelope& request, std::string_view method) {
  if (child.lane() == Isolation::shared) {
    const std::string_view result = services_.dialect.answer_child(method);
    if (!result.empty()) return child.answer(request.id, result);
  }
  Session* session = only_session(child);
  if (session == nullptr || !session->sink->listens()) {
    return child.refuse(request.id, kMethodNotFound, "no client here takes requests");
  }
  if (session->asks == nullptr) {
    session->asks = std::make_unique<Correlator<Ask>>(Session::kMostAsks);
  }
  const auto id = session->asks->open({child.number(), std::string(request.id)});
  if (!id) return child.refuse(request.id, kInternalError, "the client answers too little");
  tell(*session, with_id(request.text, request.id, std::to_string(*id)));
}

Session* SessionRouter::only_session(Child& child) {
  if (child.lane() == Isolation::session) return sessions_.find(child.lease());
  SessionId only;
  Correlator<CallPtr>& calls = child.calls();
  for (auto id = calls.oldest(); id; id = calls.next(*id)) {
    const SessionId session = (*calls.find(*id))->session;
    // A call that stands alone may be what the child asks for, and nobody else's business.
    if (session.is_none() || (!only.is_none() && only != session)) return nullptr;
    only = session;
  }
  return sessions_.find(only);
}

bool SessionRouter::pass_cancel(Child& child, const Envelope& notification, std::string_view id) {
  bool found = false;
  sessions_.for_each([&](SessionId, Session& session) {
    if (found || session.asks == nullptr) return;
    Correlator<Ask>& asks = *session.asks;
    for (auto ask = asks.oldest(); ask; ask = asks.next(*ask)) {
      if (asks.find(*ask)->child != child.number() || asks.find(*ask)->id != id) continue;
      found = true;
      tell(session, with_id(notification.text, id, std::to_string(*ask)));
      if (services_.dialect.cancel_ends_call()) asks.close(*ask);
      return;
    }
  });
  return found;
}

void SessionRouter::tell(const Session& session, std::span<const std::string_view> parts) {
  services_.core.observer.on_message(services_.backend, Direction::to_client, parts);
  session.sink->on_message(std::nullopt, parts);
}

// --- From a client --------------------------------------------------------------------------

bool SessionRouter::pass_answer(SessionId id, const Envelope& answer) {
  Session* session = sessions_.find(id);
  const auto ask_id = parse_wire_id(answer.id);
  if (session == nullptr || session->asks == nullptr || !ask_id ||
      session->asks->find(*ask_id) == nullptr) {
    return false;
  }
  const Ask ask = session->asks->close(*ask_id);
  Outgoing message;
  message.text = answer.text;
  message.replaced = {static_cast<size_t>(answer.id.data() - answer.text.data()), answer.id.size()};
  message.replacement = ask.id;
  pool_.find_child(ask.child)->send_message(message);
  return true;
}

uint64_t SessionRouter::asking_child(SessionId id) {
  Session* session = sessions_.find(id);
  if (session == nullptr || session->asks == nullptr) return 0;
  const auto oldest = session->asks->oldest();
  return oldest ? session->asks->find(*oldest)->child : 0;
}

// --- Subscriptions ----------------------------------------------------------------------------

tl::expected<bool, FaultReport> SessionRouter::subscribe(SessionId session, std::string_view key) {
  const auto refuse = [](Fault fault, const char* why) {
    return tl::unexpected(FaultReport{fault, why, {}, {}});
  };
  switch (subscriptions_.request(session, key)) {
    case Subscriptions::Request::ask:
      return true;
    case Subscriptions::Request::held:
      return false;
    case Subscriptions::Request::too_long:
      return refuse(Fault::too_large, "the name of what is subscribed to is too long");
    case Subscriptions::Request::too_many_of_session:
      return refuse(Fault::overloaded, "this session has too many subscriptions");
    case Subscriptions::Request::too_many:
      break;
  }
  return refuse(Fault::overloaded, "the sessions of this backend have too many subscriptions");
}

void SessionRouter::finish_subscribe(const Call& call, Outcome outcome) {
  using Answer = Subscriptions::Answer;
  const Answer answer = outcome == Outcome::ok()      ? Answer::granted
                        : outcome == Outcome::error() ? Answer::refused
                                                      : Answer::unknown;
  const uint64_t child = pool_.find_child(call.child) == nullptr ? 0 : call.child;
  subscriptions_.finish(call.session, call.subscription, child, answer);
  settle_all();
}

std::optional<uint64_t> SessionRouter::unsubscribe(SessionId session, std::string_view key) {
  const Subscriptions::Withdrawal withdrawal = subscriptions_.withdraw(session, key);
  if (!withdrawal.known) {
    if (subscriptions_.is_wanted(key)) return std::nullopt;
    return 0;
  }
  const Child* child = pool_.find_child(withdrawal.child);
  if (child != nullptr && pool_.can_ask(*child) &&
      subscriptions_.take_unwanted(withdrawal.child, key)) {
    return withdrawal.child;
  }
  return std::nullopt;
}

void SessionRouter::settle_all() {
  if (!subscriptions_.settled()) pool_.offer_spare_room();
}

void SessionRouter::settle(Child& child) {
  if (subscriptions_.settled()) return;
  while (pool_.can_ask(child)) {
    const auto key = subscriptions_.take_unwanted(child.number());
    if (!key) break;
    pool_.ask(child, [&](WireId id) { return services_.dialect.unsubscribe(id, *key); });
  }
  while (pool_.can_ask(child)) {
    const auto key = subscriptions_.adopt(child.number());
    if (!key) break;
    pool_.ask(child, [&](WireId id) { return services_.dialect.subscribe(id, *key); });
  }
}

// --- From the pool --------------------------------------------------------------------------

void SessionRouter::lose_child(uint64_t number) {
  sessions_.for_each([number](SessionId, Session& session) {
    if (session.asks == nullptr) return;
    Correlator<Ask>& asks = *session.asks;
    for (auto ask = asks.oldest(); ask;) {
      const auto next = asks.next(*ask);
      if (asks.find(*ask)->child == number) asks.close(*ask);
      ask = next;
    }
  });
  subscriptions_.lose_child(number);
  settle_all();
}

void SessionRouter::set_reading(SessionId id, bool reading) {
  if (!id.is_none()) {
    if (Session* session = sessions_.find(id); session != nullptr && session->sink != nullptr) {
      session->sink->set_reading(reading);
    }
    return;
  }
  if (services_.config.isolation == Isolation::session) return;
  reading_ = reading;
  sessions_.for_each(
      [reading](SessionId, Session& session) { session.sink->set_reading(reading); });
}

void SessionRouter::end(SessionId id, SessionEnd end, std::string_view message) {
  const Session* session = sessions_.find(id);
  if (session != nullptr) session->sink->on_session_end(end, message);
}

}  // namespace stdgate
