#include "gateway/mcp/bridge/session_listening.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/modern_members.h"
#include "gateway/rpc/known_message.h"

namespace stdgate::mcp {

SessionListening::SessionListening(const pool::PoolServices& services, backend::Upstream& backend,
                                   backend::SessionRouter& sessions, const pool::Pool& pool,
                                   session::Callers& callers, const std::string& stamp)
    : services_(services),
      backend_(backend),
      sessions_(sessions),
      pool_(pool),
      callers_(callers),
      stamp_(stamp),
      timer_(services.core.timers, [this] { settle(); }) {}

// --- Wishes ---------------------------------------------------------------------------------

void SessionListening::begin(session::SessionId session, const rpc::Envelope& discovery) {
  const auto facts = services_.dialect.discovery(discovery);
  if (facts && services_.dialect.changing_lists(*facts) != 0) go_on(session);
}

void SessionListening::go_on(session::SessionId session) {
  session::SessionListener* const listener = listener_of(session);
  if (listener == nullptr || std::exchange(listener->wants_lists, true)) return;
  listen_soon(*listener);
}

tl::expected<void, rpc::FaultReport> SessionListening::subscribe(session::SessionId session,
                                                                 std::string_view key) {
  using session::Subscriptions;
  session::SessionListener* const listener = listener_of(session);
  if (listener == nullptr) return tl::unexpected(rpc::faults::too_many_clients());
  if (listener->keys.contains(key)) return {};
  if (key.size() > Subscriptions::kMaxKey) {
    return tl::unexpected(rpc::faults::too_large("the name of what is subscribed to is too long"));
  }
  if (listener->keys.size() >= kMaxKeys ||
      listener->key_bytes + key.size() > Subscriptions::kMaxBytesPerSession) {
    return tl::unexpected(rpc::faults::overloaded("this session has too many subscriptions"));
  }
  listener->keys.emplace(key);
  listener->key_bytes += key.size();
  listener->held.set(listener->key_bytes);
  listen_soon(*listener);
  return {};
}

bool SessionListening::wants(session::SessionId session, std::string_view key) const {
  const session::Session* const known = sessions_.find(session);
  return known != nullptr && known->listener != nullptr && known->listener->keys.contains(key);
}

bool SessionListening::unsubscribe(session::SessionId session, std::string_view key) {
  if (!wants(session, key)) return false;
  session::SessionListener& listener = *sessions_.find(session)->listener;
  const auto found = listener.keys.find(key);
  listener.key_bytes -= found->size();
  listener.keys.erase(found);
  listener.held.set(listener.key_bytes);
  listen_soon(listener);
  return true;
}

session::SessionListener* SessionListening::listener_of(session::SessionId id) {
  session::Session* const session = sessions_.find_mutable(id);
  if (session == nullptr || pool_.has_lease(id)) return nullptr;
  if (session->listener != nullptr) return session->listener.get();
  auto listener = std::make_unique<session::SessionListener>(*this, id);
  if (!listener->slot.take(callers_, *listener)) return nullptr;
  listener->held = Share(session->held.payer(), Holding::sessions);
  session->listener = std::move(listener);
  return session->listener.get();
}

// --- The calls ------------------------------------------------------------------------------

void SessionListening::listen_soon(session::SessionListener& listener) {
  listener.due = now();
  arm(*listener.due);
}

void SessionListening::go_on_all() {
  sessions_.for_each_of_client([this](session::SessionId, session::Session& session) {
    const bool waits = session.listener != nullptr && session.listener->due == TimePoint::max();
    if (waits) listen_soon(*session.listener);
  });
}

std::vector<session::SessionId> SessionListening::fall_asleep(size_t calls) {
  std::vector<session::SessionId> listening;
  sessions_.for_each_of_client([&](session::SessionId id, session::Session& session) {
    const session::SessionListener* const listener = session.listener.get();
    if (listener != nullptr && listener->is_listening && listener->keys.empty()) {
      listening.push_back(id);
    }
  });
  if (listening.size() != calls) return {};
  for (const session::SessionId id : listening) {
    session::SessionListener& listener = *sessions_.find(id)->listener;
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
    const session::SessionListener* const listener = session.listener.get();
    if (listener == nullptr || !listener->due || *listener->due == TimePoint::max()) return;
    if (*listener->due <= now()) {
      due.push_back(listener->session);
    } else {
      next = std::min(next.value_or(*listener->due), *listener->due);
    }
  });
  for (const session::SessionId id : due) {
    // The end of another session's call may have ended this session.
    const session::Session* const session = sessions_.find(id);
    if (session != nullptr && session->listener != nullptr) listen(*session->listener);
  }
  if (next) arm(*next);
}

void SessionListening::arm(TimePoint due) {
  if (!timer_.armed() || due < timer_.due()) timer_.arm(due);
}

void SessionListening::listen(session::SessionListener& listener) {
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
  std::string text = listen_request(session->stamp.empty() ? stamp_ : session->stamp,
                                    listener.wants_lists, listener.keys);
  const rpc::KnownMessage request(text);
  call::CallContext context;
  context.caller = listener.slot.caller();
  context.transport = Transport::mcp;
  context.era = Era::modern;
  context.arrived = now();
  context.client = &session->client;
  context.principal = session->principal.get();
  context.account = session->held.account();
  context.wants_events = true;
  context.is_own = true;
  listener.is_listening = true;
  backend_.accept({request.envelope(), nullptr}, context);
}

void SessionListening::on_heard(const session::SessionListener& listener,
                                std::string_view notification) {
  const session::Session* const session = sessions_.find(listener.session);
  if (session == nullptr || session->has_ended) return;
  std::string text(notification);
  const rpc::KnownMessage event(text);
  const std::string untagged = mcp::untagged(event.envelope());
  const std::string_view whole = untagged;
  if (!whole.empty()) session->sink->on_message(std::nullopt, {&whole, 1});
}

void SessionListening::on_unheard(session::SessionListener& listener, const session::Reply& reply) {
  listener.is_listening = false;
  if (!reply.fault && reply.error_code) return;  // the child refuses to be listened to
  listener.due = now() + kAgain;
  arm(*listener.due);
}

}  // namespace stdgate::mcp
