#include "gateway/mcp/bridge/modern_calls.h"

#include <string>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/config/backend_facts.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/mcp/mcp_input.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {
namespace {

// The greeting of a client that cannot be asked anything.
constexpr std::string_view kNothingDeclared = "{}";

}  // namespace

bool ModernCalls::can_serve_alone() const {
  const bool has_child = services_.config.serves_one || pool_.has_own_places();
  return services_.core.states != nullptr && has_child;
}

// A legacy child of one session keeps state for its client, and has to reach that client with its
// questions. A request without a session offers neither. Any request may read or change the child's
// state. A principal has one child, so its calls need not wait because of state.
void ModernCalls::note(const call::Request& request, call::Call& call) const {
  const call::ClientIntent& intent = request.intent;
  const bool is_bridged = request.context.is_of_server ? is_bridged_in_servers_ : is_bridged_;
  if (!is_bridged) {
    call.needs_stateless = true;
  } else if (can_serve_alone()) {
    const bool is_call = intent.kind == call::ClientIntent::Kind::forward && !intent.listens;
    const bool may_ask = intent.may_be_asked || intent.resumes;
    const bool is_alone =
        services_.config.serves_one ? may_ask && intent.may_need_input : may_ask || is_strict_;
    call.alone = is_call && is_alone;
    if (call.alone) call.identity = policy::identity_of(request.context.principal);
  } else {
    call.needs_stateless = is_strict_ || intent.may_be_asked;
  }
  call.severity = intent.severity;
  call.listens = intent.listens;
  if (!intent.listens) return;
  call.progress_token = call.id;  // its events name it by its id
  call.deadline = TimePoint::max();
  lists_.of(call.slots) = intent.lists;
}

void ModernCalls::refuse(call::CallPtr call) {
  note_refused();
  const bool is_probe = call->method_name == services_.dialect.traits().probe;
  chain_.answer_error(*call, unsupported_version(kModernRevision, false),
                      is_probe ? Outcome::other_era() : Outcome::error());
}

void ModernCalls::note_refused() {
  if (std::exchange(has_told_, true)) return;
  const config::BackendConfig& backend = services_.config;
  const std::string keys = "backends." + backend.name;
  std::string why = "what its server may ask it needs a process alone, and none is left";
  std::string advice = "raise " + keys + ".pool.max; the reload replaces all its processes";
  if (!is_bridged_) {
    const config::ModernClients clients = config::modern_clients(backend);
    why = clients.what;
    advice = std::string(clients.advice) + ", in " + keys;
  }
  services_.core.log.write(LogLevel::info, "modern client told to open a session",
                           {{"backend", backend.name}, {"why", why}, {"advice", advice}});
}

std::string_view ModernCalls::own_answer(std::string_view method, const call::Call& call) const {
  const bool is_ours = call.client_kind != PeerKind::stateless &&
                       pool_.peer_kind() == PeerKind::stateless && !pool_.lane().has(call.session);
  return is_ours ? services_.dialect.answer_child(method) : std::string_view();
}

call::PeerChanges ModernCalls::changes_of(const rpc::Envelope& request,
                                          std::optional<PeerKind> client_kind,
                                          std::string_view stamp_of_client,
                                          const call::KnownParams* known) const {
  call::PeerChanges changes;
  const bool is_modern = client_kind == PeerKind::stateless;
  const auto peer_kind = pool_.peer_kind();
  if (peer_kind == (is_modern ? PeerKind::stateless : PeerKind::stateful)) {
    changes.peer_kind = peer_kind;
    return changes;
  }
  if (is_modern) {
    changes = dialect_.omissions(request);
    return changes;
  }
  const auto* const params = static_cast<const McpParams*>(known);
  const bool is_stamped =
      params != nullptr ? params->names_version() : !modern_version(request).empty();
  if (is_stamped) return changes;
  auto stamp = call::insertion_at(call::InsertionPlace::meta, request,
                                  stamp_of_client.empty() ? dialect_.stamp() : stamp_of_client,
                                  params == nullptr ? nullptr : &params->meta);
  if (!stamp) return changes;
  stamp->only_for = PeerKind::stateless;
  changes.list[changes.count++] = *stamp;
  return changes;
}

// The child may be asking because of a call that was given up.
void ModernCalls::note_ask(pool::Child& child, const rpc::Envelope& ask,
                           std::string_view method) const {
  call::Call* const only = child.calls().only();
  if (only == nullptr || only->client_kind != PeerKind::stateless || only->alone ||
      !child.abandoned().empty()) {
    return;
  }
  InputRuling ruling = kInput.judge(ask, method, kNothingDeclared);
  if (ruling.verdict == InputRuling::Verdict::lacks_capability) {
    lacking_.of(only->slots).text = std::move(ruling.capability);
  }
}

void ModernCalls::refuse_lack(call::CallPtr& call, const rpc::Envelope& error) {
  const bool may_lack =
      call->client_kind == PeerKind::stateless && call->child_kind == PeerKind::stateful;
  if (!may_lack || call->alone) return;
  const call::KeptText* const asked = lacking_.find(call->slots);
  std::string lacking = asked == nullptr ? std::string() : asked->text;
  for (InputRuling& demand : kInput.demanded(error, kNothingDeclared)) {
    lacking = std::move(demand.capability);
  }
  if (lacking.empty()) return;
  const call::CallPtr refused = std::move(call);
  chain_.answer_error(*refused, kInput.missing_capability(lacking));
}

bool ModernCalls::listen_again(call::CallPtr& call) const {
  const rpc::KnownMessage known{std::string(call->request)};
  const rpc::Envelope& request = known.envelope();
  call::Outgoing message(request);
  message.account = call->held.account();
  call->route = {};
  call->cancelled = false;
  return pool_.submit(call, message).has_value();
}

std::vector<std::string> ModernCalls::listened_keys(const call::Call& call,
                                                    const pool::ChildFacts& facts) const {
  const rpc::KnownMessage known{std::string(call.request)};
  return McpDialect::listened_keys(known.envelope(), facts);
}

void ModernCalls::begin_listening(const call::Call& call, std::span<const std::string> keys,
                                  const pool::ChildFacts& facts) const {
  session::ReplySink* const sink = callers_.find(call.caller);
  if (sink == nullptr) return;
  const auto lists = static_cast<uint8_t>(facts.changing_lists & lists_of(call));
  sink->on_event(call.tag, listening_acknowledgement(call.id, lists, keys));
}

void ModernCalls::end_listening(const call::Call& call) const {
  chain_.answer(call, Outcome::ok(), mcp::listening_end(call.id));
}

std::optional<std::string> ModernCalls::tagged(const call::Call& call,
                                               const rpc::Envelope& notification) const {
  const std::string tag = subscription_tag(call.id);
  const auto insertion = call::insertion_at(call::InsertionPlace::meta, notification, tag);
  if (!insertion) return std::nullopt;
  std::string text(notification.text.substr(0, insertion->offset));
  text.append(insertion->head).append(insertion->members).append(insertion->tail);
  return text.append(notification.text.substr(insertion->offset + insertion->replaced));
}

bool ModernCalls::pass_to_listeners(pool::Child& child, const rpc::Envelope& notification,
                                    uint8_t list) const {
  if (list == 0) return false;
  bool is_passed = false;
  child.calls().for_each([&](const call::Call& call) {
    // Sessions hear from a legacy child directly.
    const bool is_told = call.is_own && child.peer_kind() != PeerKind::stateless;
    if (!call.listens || is_told || !call.has_begun || (lists_of(call) & list) == 0) return;
    session::ReplySink* const sink = callers_.find(call.caller);
    const auto text = tagged(call, notification);
    if (sink == nullptr || !text) return;
    const std::string_view whole = *text;
    services_.core.observer.on_message(services_.backend, Direction::to_client, {&whole, 1});
    sink->on_event(call.tag, whole);
    is_passed = true;
  });
  return is_passed;
}

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
    sessions_.find(*session)->held.move_to(call.held.payer());
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
