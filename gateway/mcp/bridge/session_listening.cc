#include "gateway/mcp/bridge/session_listening.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/rpc/message_text.h"
#include "gateway/session/subscriptions.h"

namespace stdgate::mcp {

SessionListening::SessionListening(const pool::PoolServices& services, backend::Upstream& backend,
                                   backend::SessionRouter& sessions, const pool::Pool& pool,
                                   session::Callers& callers, const McpDialect& dialect)
    : services_(services),
      backend_(backend),
      sessions_(sessions),
      pool_(pool),
      callers_(callers),
      dialect_(dialect),
      timer_(services.core.timers, [this] { settle(); }) {}

// --- Wishes ---------------------------------------------------------------------------------

void SessionListening::begin(session::SessionId session, const rpc::Envelope& discovery) {
  const auto facts = McpDialect::discovery(discovery);
  if (facts && facts->changing_lists != 0) go_on(session);
}

void SessionListening::go_on(session::SessionId session) {
  SessionListener* const listener = listener_of(session);
  if (listener == nullptr || std::exchange(listener->wants_lists, true)) return;
  listen_soon(*listener);
}

tl::expected<void, rpc::FaultReport> SessionListening::subscribe(session::SessionId session,
                                                                 std::string_view key) {
  SessionListener* const listener = listener_of(session);
  if (listener == nullptr) return tl::unexpected(rpc::faults::too_many_clients());
  if (listener->keys.contains(key)) return {};
  if (auto report =
          session::Subscriptions::refusal(listener->keys.size(), listener->key_bytes, key)) {
    return tl::unexpected(*std::move(report));
  }
  listener->keys.emplace(key);
  listener->key_bytes += key.size();
  listener->held.set(listener->key_bytes);
  listen_soon(*listener);
  return {};
}

bool SessionListening::wants(session::SessionId session, std::string_view key) const {
  const SessionListener* const listener = known_listener_of(session);
  return listener != nullptr && listener->keys.contains(key);
}

bool SessionListening::unsubscribe(session::SessionId session, std::string_view key) {
  if (!wants(session, key)) return false;
  SessionListener& listener = *known_listener_of(session);
  const auto found = listener.keys.find(key);
  listener.key_bytes -= found->size();
  listener.keys.erase(found);
  listener.held.set(listener.key_bytes);
  listen_soon(listener);
  return true;
}

std::string_view SessionListening::stamp_of(session::SessionId id) const {
  const session::Session* const session = sessions_.find(id);
  const BridgedSession* const bridged = session == nullptr ? nullptr : BridgedSession::of(*session);
  return bridged == nullptr ? std::string_view() : std::string_view(bridged->stamp);
}

SessionListener* SessionListening::known_listener_of(session::SessionId id) const {
  const session::Session* const session = sessions_.find(id);
  return session == nullptr ? nullptr : known_listener_of(*session);
}

SessionListener* SessionListening::known_listener_of(const session::Session& session) {
  const BridgedSession* const bridged = BridgedSession::of(session);
  return bridged == nullptr ? nullptr : bridged->listener.get();
}

SessionListener* SessionListening::listener_of(session::SessionId id) {
  session::Session* const session = sessions_.find(id);
  if (session == nullptr || pool_.lane().has(id)) return nullptr;
  BridgedSession& bridged = BridgedSession::made_for(*session);
  if (bridged.listener != nullptr) return bridged.listener.get();
  auto listener = std::make_unique<SessionListener>(*this, id);
  if (!listener->slot.take(callers_, *listener)) return nullptr;
  listener->held = Share(session->held.payer(), Holding::sessions);
  bridged.listener = std::move(listener);
  return bridged.listener.get();
}

// --- The calls ------------------------------------------------------------------------------

void SessionListening::listen_soon(SessionListener& listener) {
  listener.due = now();
  timer_.arm_by(*listener.due);
}

void SessionListening::go_on_all() {
  sessions_.for_each_of_client([this](session::SessionId, session::Session& session) {
    SessionListener* const listener = known_listener_of(session);
    if (listener != nullptr && listener->due == TimePoint::max()) listen_soon(*listener);
  });
}

std::vector<session::SessionId> SessionListening::fall_asleep(size_t calls) {
  std::vector<session::SessionId> listening;
  sessions_.for_each_of_client([&](session::SessionId id, session::Session& session) {
    const SessionListener* const listener = known_listener_of(session);
    if (listener != nullptr && listener->is_listening && listener->keys.empty()) {
      listening.push_back(id);
    }
  });
  if (listening.size() != calls) return {};
  for (const session::SessionId id : listening) {
    SessionListener& listener = *known_listener_of(id);
    listener.is_listening = false;
    listener.due = TimePoint::max();
    backend_.cancel_calls_of(listener.slot.caller());
  }
  return listening;
}

void SessionListening::settle() {
  std::optional<TimePoint> next;
  std::vector<session::SessionId> due;
  sessions_.for_each([&](const session::Session& session) {
    const SessionListener* const listener = known_listener_of(session);
    if (listener == nullptr || !listener->due || *listener->due == TimePoint::max()) return;
    if (*listener->due <= now()) {
      due.push_back(listener->session);
    } else {
      next = std::min(next.value_or(*listener->due), *listener->due);
    }
  });
  for (const session::SessionId id : due) {
    // The end of another session's call may have ended this session.
    if (SessionListener* const listener = known_listener_of(id)) listen(*listener);
  }
  if (next) timer_.arm_by(*next);
}

void SessionListening::listen(SessionListener& listener) {
  listener.due.reset();
  if (std::exchange(listener.is_listening, false)) {
    backend_.cancel_calls_of(listener.slot.caller());
  }
  const session::Session* const session = sessions_.find(listener.session);
  if (session == nullptr || (!listener.wants_lists && listener.keys.empty())) return;
  // A server that sleeps has no news of its lists, and must not be woken to be asked.
  if (listener.keys.empty() && services_.config.pool.remember && pool_.is_asleep()) {
    listener.due = TimePoint::max();
    return;
  }
  const std::string_view stamp = stamp_of(listener.session);
  const rpc::KnownMessage request(
      listen_request(stamp.empty() ? std::string_view(dialect_.stamp()) : stamp,
                     listener.wants_lists, listener.keys));
  call::CallContext context;
  context.caller = listener.slot.caller();
  context.transport = Transport::mcp;
  context.peer_kind = PeerKind::stateless;
  context.arrived = now();
  context.client = &session->client;
  context.principal = session->principal.get();
  context.account = session->held.account();
  context.wants_events = true;
  context.is_own = true;
  listener.is_listening = true;
  backend_.accept({request.envelope(), nullptr}, context);
}

void SessionListener::on_event(session::Tag /*tag*/, std::string_view notification) {
  owner_.on_heard(*this, notification);
}

void SessionListener::on_reply(session::Tag /*tag*/, const session::Reply& reply) {
  owner_.on_unheard(*this, reply);
}

void SessionListening::on_heard(const SessionListener& listener, std::string_view notification) {
  const session::Session* const session = sessions_.find(listener.session);
  if (session == nullptr || session->has_ended) return;
  const rpc::KnownMessage event{std::string(notification)};
  const std::string untagged = mcp::untagged(event.envelope());
  const std::string_view whole = untagged;
  if (!whole.empty()) session->sink->on_message(std::nullopt, {&whole, 1});
}

void SessionListening::on_unheard(SessionListener& listener, const session::Reply& reply) {
  listener.is_listening = false;
  if (!reply.fault && reply.error_code) return;  // the child refuses to be listened to
  listener.due = now() + kAgain;
  timer_.arm_by(*listener.due);
}

}  // namespace stdgate::mcp
