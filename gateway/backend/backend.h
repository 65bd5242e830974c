// Backend: one configured stdio server: its dialect, its method names, its pool of children.
//
// Job: take what clients send, bring it to a child, answer each request exactly once whatever
// happens, and tell the observer of each call once. All transports use it as an Upstream. Owner:
// Upstreams. Holds no pointer to a client: only callers and, in the router, sinks of sessions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/answer_cache.h"
#include "gateway/backend/argument_mirrors.h"
#include "gateway/backend/backend_names.h"
#include "gateway/backend/call_audit.h"
#include "gateway/backend/call_gate.h"
#include "gateway/backend/call_rules.h"
#include "gateway/backend/call_tracing.h"
#include "gateway/backend/change_watch.h"
#include "gateway/backend/input_rounds.h"
#include "gateway/backend/key_watches.h"
#include "gateway/backend/list_notices.h"
#include "gateway/backend/modern_calls.h"
#include "gateway/backend/refused_greetings.h"
#include "gateway/backend/returning_calls.h"
#include "gateway/backend/round_trips.h"
#include "gateway/backend/session_listening.h"
#include "gateway/backend/session_memos.h"
#include "gateway/backend/session_router.h"
#include "gateway/backend/upstream.h"
#include "gateway/observer.h"
#include "gateway/policy/client_quotas.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/session_sink.h"

namespace stdgate::backend {

struct BackendOptions {
  config::BackendConfig config;
  config::LimitsConfig limits;
  pool::LaunchSpec launch;
  size_t method_names = 500;  // told apart in metrics; and as many names of tools
  // Names that have their own labels from the start.
  std::vector<std::string> known_methods{};
  std::vector<std::string> known_tools{};
  std::vector<config::RoleConfig> roles{};
  // That backends with the same id share; outlives them. Null: it has its own.
  BackendNames* names = nullptr;
  Duration input_timeout = std::chrono::minutes(5);                // of parked calls
  std::function<std::string(std::string_view)> hide_secrets = {};  // see PoolServices
  // That backends share whose clients are the same. Null: it has its own.
  std::shared_ptr<policy::ClientQuotas> quotas = nullptr;
  bool has_principals = false;  // clients can say who they are, though some may be anonymous
};

class Backend final : public Upstream,
                      private pool::PoolEvents,
                      private TripEnds,
                      private RefusedGreetings::Owner,
                      private MirrorOwner,
                      private ChangeListener {
 public:
  // Whoever gives the `id` tells the observer of it first, as a backend tells the observer its
  // names from the beginning.
  Backend(BackendId id, BackendOptions options, std::unique_ptr<pool::Dialect> dialect,
          session::Callers& callers, const pool::CoreServices& core);
  ~Backend() override = default;

  void start() override { pool_.start(); }

  Admission accept(const rpc::ParsedMessage& message, const call::CallContext& context) override;
  void refuse(const rpc::FaultReport& report, std::string_view id,
              const call::CallContext& context) override {
    core_.observer.on_call_started(Upstream::id());
    call::CallPtr call = make_call(id, {}, context);
    audit_.note_client(context, *call);
    on_fault(std::move(call), report);
  }
  void count_refused(const rpc::FaultReport& report, std::string_view id,
                     const call::CallContext& context) override {
    core_.observer.on_call_started(Upstream::id());
    const call::CallPtr call = make_call(id, {}, context);
    audit_.note_client(context, *call);
    finish(*call, Outcome::of(report.fault), nullptr, report.detail);
  }
  void cancel_calls_of(session::Caller caller) override { cancel(withdraw(caller)); }

  bool take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) override;
  tl::expected<session::SessionId, rpc::FaultReport> open_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client) override {
    auto obstacle = find_obstacle(client);
    if (obstacle) return tl::unexpected(*std::move(obstacle));
    return sessions_.open(caller, sink, client);
  }
  void close_session(session::SessionId session, std::string_view why) override;
  tl::expected<session::SessionId, rpc::FaultReport> adopt_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client,
      const session::Beginning& beginning) override {
    auto obstacle = find_obstacle(client);
    if (obstacle) return tl::unexpected(*std::move(obstacle));
    auto session = sessions_.adopt(caller, sink, client, beginning);
    // What its child has promised elsewhere. One with a child of its own hears of it from there.
    if (session && pool_.era() == Era::modern) listening_.go_on(*session);
    return session;
  }
  session::Parking park_session(session::SessionId session) override {
    return sessions_.park(session);
  }
  void give_up_asks(session::SessionId session) override { sessions_.give_up_asks(session); }
  void hold_child(session::SessionId session, bool held) override {
    sessions_.hold_child(session, held);
  }

  void end_sessions(session::SessionEnd end, std::string_view message) override {
    sessions_.end_unless([](const policy::Principal*) { return false; }, end, message);
  }

  void set_rules(const config::BackendConfig& backend,
                 const std::vector<config::RoleConfig>& roles) override {
    if (!rules_.replace(backend, roles)) return;
    if (rules_.any()) {
      sessions_.end_unless([this](const policy::Principal* who) { return rules_.admits(who); },
                           session::SessionEnd::denied, "no rule lets this client in any more");
    }
    notices_.tell();
    // Who listens is to ask again, and is judged anew.
    end_listening();
  }
  void set_limits(const config::LimitsConfig& limits,
                  const config::TimeoutsConfig& timeouts) override;
  void end_listening() override {
    for (const call::CallPtr& call : pool_.withdraw_listeners_of_clients()) end_listening(*call);
  }

  // See Pool.
  void drain() override {
    pool_.drain();
    round_trips_.drain();
    rounds_.drain();
    for (const call::CallPtr& call : pool_.withdraw_listeners()) end_listening(*call);
  }
  void fail_calls(const rpc::FaultReport& report) override { pool_.fail_calls(report); }
  void end_children(Duration grace) override { pool_.end_children(grace); }
  [[nodiscard]] size_t calls() const override {
    return pool_.calls() + rounds_.size() + (mirrors_ ? mirrors_->held() : 0);
  }
  [[nodiscard]] size_t kept_messages() const override {
    return round_trips_.parked() + pool_.queued();
  }
  void drop_caches() override {
    if (cache_) cache_->clear();
    calls_.drop_kept();
  }
  [[nodiscard]] bool has_children() const override { return pool_.has_children(); }
  [[nodiscard]] bool gave(const rpc::Envelope& request,
                          const call::CallContext& context) const override {
    return returning_.gave(request, context);
  }
  [[nodiscard]] bool holds_work() const override { return returning_.holds_work(); }

  [[nodiscard]] pool::BackendStatus status() const override {
    pool::BackendStatus status;
    status.name = name();
    sessions_.describe(status);
    pool_.describe(status);
    status.parked_calls = round_trips_.parked() + rounds_.size();
    returning_.describe(status);
    return status;
  }
  void check_invariants() override {
    pool_.check_invariants();
    sessions_.check_invariants();
    watches_.check_invariants();
    const auto check = [this](const call::Call& call) { sessions_.check_owner(call); };
    pool_.for_each_call(check);
    rounds_.for_each_call(check);
    if (mirrors_) mirrors_->for_each_call(check);
  }

 private:
  void on_answer(call::CallPtr call, const rpc::Envelope& answer) override;
  void on_fault(call::CallPtr call, const rpc::FaultReport& report) override;
  void on_wrong_era(call::CallPtr call) override {
    modern_.note_refused();
    answer_member(*call, Outcome::error(), R"("error":)" + dialect_->wrong_era_error(),
                  rpc::rpc_error_code(rpc::RpcError::unsupported_version));
  }
  void on_call_alone(call::CallPtr call, const call::Outgoing& message) override {
    if (options_.config.serves_one) {
      round_trips_.take_turn(std::move(call), message);
    } else {
      round_trips_.take(std::move(call), message);
    }
  }
  void end_call(const call::Call& call, Outcome outcome, std::string_view member,
                std::optional<int64_t> error_code) override {
    answer_member(call, outcome, member, error_code);
  }
  void pass_on(call::CallPtr call, const call::Outgoing& message) override;
  void refuse_mirrored(call::CallPtr call, const std::string& why) override {
    answer_error(*call, {rpc::RpcError::header_mismatch, why}, Outcome::error(), {});
  }
  void on_era(Era era) override { greetings_.note_era(era); }
  void on_children_shared() override { set_owns_children(false); }
  std::vector<call::CallPtr> on_children_separated() override {
    set_owns_children(true);
    std::vector<call::CallPtr> calls = rounds_.withdraw_all();
    for (call::CallPtr& call : pool_.withdraw_shared_of_sessions()) {
      if (!call->is_own) {
        calls.push_back(std::move(call));
      } else if (call->listens) {
        finish_cancelled(*call, pool::CancelReason::client_left);
      }
    }
    return calls;
  }
  void on_session_moved(session::SessionId session) override { listening_.go_on(session); }
  void pass_refusal(const call::Call& call, std::string_view refusal) override {
    answer_member(call, Outcome::error(), refusal);
  }
  void on_changed(const pool::Audience& audience) override {
    if (mirrors_) mirrors_->note_change(audience.list);
    if (cache_) cache_->note_change(audience);
  }
  void on_restart(const pool::Child& child) override {
    notices_.note_gone(child);
    if (mirrors_) mirrors_->note_restart();
    if (cache_) cache_->clear();
  }
  void on_listening_end(call::CallPtr call) override { end_listening(*call); }
  void on_listener_lost(call::CallPtr call, const rpc::FaultReport& report) override {
    returning_.take_lost_listener(std::move(call), report);
  }
  void on_misdirected(call::CallPtr call, const call::Outgoing& message) override {
    const std::string method(method_name(*call));
    returning_.take_misdirected(std::move(call), method, message);
  }
  void on_listening(const call::Call& call, const pool::ChildFacts& facts) override {
    std::vector<std::string> keys = modern_.listened_keys(call, facts);
    watches_.open(call, keys);
    modern_.begin_listening(call, keys, facts);
  }

  Admission accept_request(const rpc::Envelope& request, const call::CallContext& context);
  bool accept_subscription(const call::ClientIntent& intent, call::CallPtr& call,
                           call::Outgoing& message);
  void accept_severity(const call::ClientIntent& intent, const call::Call& call);
  Admission accept_notification(const rpc::Envelope& notification,
                                const call::CallContext& context);
  // Its calls, wherever they are.
  std::vector<call::CallPtr> withdraw(session::Caller caller) {
    std::vector<call::CallPtr> calls = pool_.withdraw(caller);
    for (call::CallPtr& call : rounds_.withdraw(caller)) calls.push_back(std::move(call));
    if (!mirrors_) return calls;
    for (call::CallPtr& call : mirrors_->withdraw(caller)) calls.push_back(std::move(call));
    return calls;
  }
  bool accept_cancel(std::string_view id, const call::CallContext& context);
  // Of the children that a message with this context is for.
  [[nodiscard]] config::Isolation isolation_of(const call::CallContext& context) const {
    return pool_.has_lease(context.session) ? config::Isolation::session
                                            : config::Isolation::shared;
  }
  void cancel(const std::vector<call::CallPtr>& calls) {
    for (const call::CallPtr& call : calls) {
      finish_cancelled(*call, pool::CancelReason::client_left);
    }
  }
  void finish_cancelled(const call::Call& call, pool::CancelReason reason) {
    finish(call, Outcome::cancelled(), nullptr, pool::cancel_reason_text(reason));
  }
  void learn_method(call::Call& call) {
    if (call.method != kOtherMethod) return;
    call.method = methods_.learn(call.method_name, core_.clock.now());
  }
  // `params`: raw; empty: none, or they were not read.
  call::CallPtr make_call(std::string_view id, std::string_view method,
                          const call::CallContext& context, std::string_view params = {});
  [[nodiscard]] std::string_view method_name(const call::Call& call) const {
    return call.method == kOtherMethod ? std::string_view(call.method_name)
                                       : methods_.name(call.method);
  }
  [[nodiscard]] std::string_view tool_name(const call::Call& call) const {
    return call.tool.value_or(kOtherTool) == kOtherTool ? std::string_view(call.tool_name)
                                                        : tools_.name(*call.tool);
  }
  void note_tool(call::Call& call, std::string_view spelled) {
    if (spelled.empty()) return;
    const std::string_view name = rpc::decode_string(spelled, tool_);
    call.tool = tools_.find(name);
    // A name over the limit is cut to one byte above it, so that it still gets no place.
    if (call.tool == kOtherTool) call.tool_name = name.substr(0, NameTable::kMaxName + 1);
  }
  void finish(const call::Call& call, Outcome outcome, const session::Reply* reply,
              std::string_view detail);
  void deliver(const call::Call& call, const session::Reply& reply) {
    const std::array<std::string_view, 3> parts = {reply.head, reply.id, reply.tail};
    core_.observer.on_message(id(), Direction::to_client, parts);
    if (session::ReplySink* sink = callers_.find(call.caller); sink != nullptr) {
      sink->on_reply(call.tag, reply);
    } else if (!call.is_own) {
      drop(DropReason::caller_gone);
    }
  }
  // The gateway's own answer, instead of that of a child.
  void answer_fault(const call::Call& call, const rpc::FaultReport& report, Outcome outcome,
                    std::string_view detail, bool exposes_detail);
  const session::Reply* record_end(const call::Call& call, Outcome outcome,
                                   const session::Reply* reply, std::string_view detail);
  // The gateway's own answer, where no child is needed for it.
  void answer(const call::Call& call, std::string_view result) {
    answer_member(call, Outcome::ok(), R"("result":)" + std::string(result));
  }
  // An error in the place of a child.
  void answer_error(const call::Call& call, const call::Absence& error, Outcome outcome,
                    std::string_view detail) {
    const int code = rpc::rpc_error_code(error.error);
    std::string member = R"("error":)";
    rpc::append_error(member, code, error.message, error.data);
    answer_member(call, outcome, member, code, detail);
  }
  // What keeps the client from having a session.
  std::optional<rpc::FaultReport> find_obstacle(const policy::Client& client) {
    if (!rules_.admits(client.principal.get())) {
      core_.observer.on_rejected(id(), Rejection::denied);
      return rpc::faults::because(rpc::Fault::denied, "no rule of this backend is about you");
    }
    if (core_.overload != nullptr && core_.overload->refuses_sessions()) {
      return rpc::faults::no_new_sessions();
    }
    return find_lack(client.account.get());
  }
  // Whether too much is kept already, for the client or at this backend.
  std::optional<rpc::FaultReport> find_lack(const Account* client) const {
    MemoryLack lack = client == nullptr ? MemoryLack::none : client->lack();
    const Account* const own = services_.payer.account;
    if (lack == MemoryLack::none && (own == nullptr || !own->is_beyond_bound()))
      return std::nullopt;
    core_.observer.on_rejected(id(), Rejection::memory);
    return rpc::faults::holds_too_much(lack);
  }
  // What keeps the gateway from taking any such call now.
  std::optional<rpc::FaultReport> find_obstacle(const rpc::Envelope& request,
                                                std::string_view method, bool listens,
                                                const call::CallContext& context,
                                                call::Call& call) {
    if (listens && request.text.size() > ModernCalls::kMaxListening) {
      return rpc::faults::too_large("what is to be listened for is too long");
    }
    if (core_.overload != nullptr && core_.overload->refuses_calls()) {
      return rpc::faults::short_of_memory();
    }
    if (auto lack = find_lack(context.account)) return lack;
    if (!context.is_own && !audit_.begin(request, method, context, call)) {
      return rpc::faults::unrecorded();
    }
    return std::nullopt;
  }
  // `params`: see CallContext.
  [[nodiscard]] tl::expected<call::ClientIntent, const char*> intent_of(
      const rpc::Envelope& request, std::string_view method, const call::CallContext& context,
      const mcp::ModernParams* params) const {
    if (context.era == Era::modern) return dialect_->read_modern_client(request, method, params);
    return dialect_->read_client(request, method, isolation_of(context));
  }
  void refuse(call::CallPtr call, const GateRefusal& refusal);
  // A request that may go on, as its child is to get it. `ruling`: null: as any other one.
  void send(const rpc::Envelope& request, std::string_view method, const call::ClientIntent& intent,
            const call::CallContext& context, call::CallPtr call,
            const pool::CallFilter::Ruling* ruling);
  void send_as(pool::CallFilter::Ruling& ruling, std::string_view method,
               const call::CallContext& context, call::CallPtr call);
  // The answer as it is for the client.
  void give(call::CallPtr call, const rpc::Envelope& answer);
  bool answer_from_cache(const rpc::Envelope& request, std::string_view method,
                         const call::CallContext& context, call::Call& call);
  // `member`: result or error, as the client is given it.
  void answer_member(const call::Call& call, Outcome outcome, std::string_view member,
                     std::optional<int64_t> error_code = {}, std::string_view detail = {}) {
    answer_tail(call, outcome, "," + std::string(member) + "}", error_code, detail);
  }
  // `tail`: all that follows the id.
  void answer_tail(const call::Call& call, Outcome outcome, std::string_view tail,
                   std::optional<int64_t> error_code = {}, std::string_view detail = {});
  void end_listening(const call::Call& call) {
    answer_member(call, Outcome::ok(), dialect_->listening_end(call.id));
  }
  Admission drop(DropReason reason) {
    core_.observer.on_dropped(id(), reason);
    if (services_.traces) pool::trace_dropped(services_, reason);
    return Admission::dropped;
  }
  Admission refuse_notification() {
    drop(DropReason::overloaded);
    return Admission::refused_overloaded;
  }

  BackendOptions options_;  // constant but for what RefusedGreetings changes
  const std::unique_ptr<pool::Dialect> dialect_;
  CallRules rules_;
  const std::shared_ptr<policy::ClientQuotas> quotas_;
  CallGate gate_;
  CallAudit audit_;
  CallTracing tracing_;
  session::Callers& callers_;
  const pool::CoreServices& core_;
  const std::unique_ptr<BackendNames> own_names_;  // null: they are shared
  NameTable& methods_;
  NameTable& tools_;
  std::string method_;  // scratch
  std::string tool_;    // scratch
  std::string key_;     // scratch
  call::CallStore calls_;
  pool::PoolServices services_;
  ModernCalls modern_;
  SessionRouter sessions_;
  ListNotices notices_;
  ChangeWatch changes_;
  ReturningCalls returning_;
  pool::Pool pool_;
  SessionListening listening_;
  SessionMemos memos_;
  RoundTrips round_trips_;
  InputRounds rounds_;
  RefusedGreetings greetings_;
  KeyWatches watches_;
  std::optional<AnswerCache> cache_;        // nothing: nothing is kept
  std::optional<ArgumentMirrors> mirrors_;  // nothing: the protocol has none
};

}  // namespace stdgate::backend
