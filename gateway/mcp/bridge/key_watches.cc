#include "gateway/mcp/bridge/key_watches.h"

#include "gateway/base/check.h"
#include "gateway/rpc/known_message.h"

namespace stdgate::mcp {

class KeyWatches::Watch final : public session::SessionSink {
 public:
  Watch(const KeyWatches& all, const call::Call& call) : all_(all), call_(call) {}

  void on_message(std::optional<session::Tag> /*of_call*/,
                  std::span<const std::string_view> parts) override {
    session::ReplySink* const sink = all_.callers_.find(call_.caller);
    if (sink == nullptr) return;
    std::string text;
    for (const std::string_view part : parts) text += part;
    const rpc::KnownMessage known(text);
    const auto tagged = all_.modern_.tagged(call_, known.envelope());
    if (tagged) sink->on_event(call_.tag, *tagged);
  }
  [[nodiscard]] bool awaits_requests() override { return false; }
  [[nodiscard]] session::ClientHold hold() const override { return session::ClientHold::nothing; }
  void set_reading(bool /*reading*/) override {}
  void on_session_end(session::SessionEnd /*end*/, std::string_view /*message*/) override {}
  void on_reply(session::Tag /*tag*/, const session::Reply& /*reply*/) override {}
  void on_event(session::Tag /*tag*/, std::string_view /*notification*/) override {}
  void on_cancelled(session::Tag /*tag*/) override {}

  session::SessionId session;

 private:
  const KeyWatches& all_;
  const call::Call& call_;
};

KeyWatches::KeyWatches(const pool::PoolServices& services, const ModernCalls& modern,
                       backend::SessionRouter& sessions, session::Callers& callers)
    : services_(services), modern_(modern), sessions_(sessions), callers_(callers) {}

KeyWatches::~KeyWatches() = default;

void KeyWatches::open(const call::Call& call, std::vector<std::string>& keys) {
  // Sessions with children of their own subscribe at their children.
  if (services_.config.isolation == config::Isolation::session) keys.clear();
  if (keys.empty()) return;
  auto watch = std::make_unique<Watch>(*this, call);
  const auto session = sessions_.open_watch(call.caller, *watch, keys);
  if (!session) {
    keys.clear();
  } else if (keys.empty()) {
    end(*session);
  } else {
    watch->session = *session;
    sessions_.find_mutable(*session)->held.move_to(call.held.payer());
    sessions_.charge(*session);
    watches_.emplace(&call, std::move(watch));
  }
}

void KeyWatches::close(const call::Call& call) {
  const auto node = watches_.extract(&call);
  if (!node.empty()) end(node.mapped()->session);
}

// Ends the session, and subscriptions that no other session needs. The session has no calls.
void KeyWatches::end(session::SessionId session) {
  static_cast<void>(sessions_.end(session));
  sessions_.wishes().settle();
}

void KeyWatches::check_invariants() const {
  for (const auto& [call, watch] : watches_) {
    STDGATE_CHECK(call->listens && sessions_.find(watch->session) != nullptr);
  }
}

}  // namespace stdgate::mcp
