#include "gateway/backend/session_listening.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gateway/rpc/known_message.h"

namespace stdgate::backend {

class SessionListening::Listener final : public session::ReplySink {
 public:
  Listener(SessionListening& all, session::SessionId session_of_it)
      : session(session_of_it), all_(all) {}

  void on_event(session::Tag /*tag*/, std::string_view notification) override {
    const session::Session* const known = all_.sessions_.find(session);
    if (known == nullptr || known->has_ended) return;
    std::string text(notification);
    const rpc::KnownMessage event(text);
    const std::string untagged = all_.services_.dialect.untagged(event.envelope());
    const std::string_view whole = untagged;
    if (!whole.empty()) known->sink->on_message(std::nullopt, {&whole, 1});
  }
  void on_reply(session::Tag /*tag*/, const session::Reply& reply) override {
    is_listening = false;
    if (!reply.fault && reply.error_code) return;  // the child listens for nobody
    due = all_.services_.core.clock.now() + kAgain;
    all_.arm(*due);
  }
  void on_cancelled(session::Tag /*tag*/) override {}

  const session::SessionId session;
  session::Caller caller;  // as which it listens
  bool wants_lists = false;
  std::set<std::string, std::less<>> keys;
  size_t key_bytes = 0;
  bool is_listening = false;
  std::optional<TimePoint> due;  // to listen anew

 private:
  SessionListening& all_;
};

SessionListening::SessionListening(const pool::PoolServices& services, Upstream& backend,
                                   SessionRouter& sessions, session::Callers& callers)
    : services_(services),
      backend_(backend),
      sessions_(sessions),
      callers_(callers),
      timer_(services.core.timers, [this] { settle(); }) {}

SessionListening::~SessionListening() {
  for (const auto& [caller, listener] : listeners_) callers_.remove(listener->caller);
}

void SessionListening::begin(session::SessionId session, const rpc::Envelope& discovery) {
  const auto facts = services_.dialect.discovery(discovery);
  if (facts && services_.dialect.changing_lists(*facts) != 0) go_on(session);
}

void SessionListening::go_on(session::SessionId session) {
  Listener* const listener = listener_of(session);
  if (listener == nullptr || std::exchange(listener->wants_lists, true)) return;
  listener->due = services_.core.clock.now();
  timer_.arm(*listener->due);
}

tl::expected<void, rpc::FaultReport> SessionListening::subscribe(session::SessionId session,
                                                                 std::string_view key) {
  using session::Subscriptions;
  Listener* const listener = listener_of(session);
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
  listener->due = services_.core.clock.now();
  timer_.arm(*listener->due);
  return {};
}

void SessionListening::unsubscribe(session::SessionId session, std::string_view key) {
  Listener* const listener = listener_of(session);
  const auto found = listener == nullptr ? std::set<std::string, std::less<>>::iterator()
                                         : listener->keys.find(key);
  if (listener == nullptr || found == listener->keys.end()) return;
  listener->key_bytes -= found->size();
  listener->keys.erase(found);
  listener->due = services_.core.clock.now();
  timer_.arm(*listener->due);
}

void SessionListening::close(session::Caller caller) {
  auto node = listeners_.extract(caller);
  if (node.empty()) return;
  Listener& listener = *node.mapped();
  backend_.cancel_calls_of(listener.caller);
  callers_.remove(listener.caller);
}

SessionListening::Listener* SessionListening::listener_of(session::SessionId id) {
  const session::Session* const session = sessions_.find(id);
  if (session == nullptr) return nullptr;
  const auto known = listeners_.find(session->caller);
  if (known != listeners_.end()) return known->second.get();
  auto listener = std::make_unique<Listener>(*this, id);
  const auto caller = callers_.add(*listener);
  if (!caller) return nullptr;
  listener->caller = *caller;
  return listeners_.emplace(session->caller, std::move(listener)).first->second.get();
}

void SessionListening::settle() {
  const TimePoint now = services_.core.clock.now();
  std::optional<TimePoint> next;
  std::vector<session::Caller> due;
  for (const auto& [caller, listener] : listeners_) {
    if (!listener->due) continue;
    if (*listener->due <= now) {
      due.push_back(caller);
    } else {
      next = std::min(next.value_or(*listener->due), *listener->due);
    }
  }
  for (const session::Caller caller : due) {
    const auto found = listeners_.find(caller);
    if (found != listeners_.end()) listen(*found->second);
  }
  if (next) arm(*next);
}

void SessionListening::arm(TimePoint due) {
  if (!timer_.armed() || due < timer_.due()) timer_.arm(due);
}

void SessionListening::listen(Listener& listener) {
  listener.due.reset();
  if (std::exchange(listener.is_listening, false)) backend_.cancel_calls_of(listener.caller);
  const session::Session* const session = sessions_.find(listener.session);
  if (session == nullptr || (!listener.wants_lists && listener.keys.empty())) return;
  std::string text =
      services_.dialect.listen_request(session->stamp, listener.wants_lists, listener.keys);
  const rpc::KnownMessage request(text);
  CallContext context;
  context.caller = listener.caller;
  context.transport = Transport::mcp;
  context.era = Era::modern;
  context.arrived = services_.core.clock.now();
  context.client = &session->client;
  context.principal = session->principal.get();
  context.wants_events = true;
  context.is_own = true;
  listener.is_listening = true;
  backend_.accept({request.envelope(), nullptr}, context);
}

}  // namespace stdgate::backend
