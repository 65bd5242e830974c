// Backend: one configured stdio server: its dialect, its method names, its pool of children.
//
// Job: take messages of clients, bring them to a child, answer each request exactly once in any
// case, and report each call to the observer once. All transports use it as an Upstream. Owner:
// Upstreams. Holds no pointer to a client: only callers and, in the router, sinks of sessions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/bridge.h"
#include "gateway/backend/chain_listener.h"
#include "gateway/backend/list_notices.h"
#include "gateway/backend/session_delivery.h"
#include "gateway/backend/session_memos.h"
#include "gateway/backend/session_router.h"
#include "gateway/backend/sleeping_server.h"
#include "gateway/backend/upstream.h"
#include "gateway/call/capacity_filter.h"
#include "gateway/call/chain.h"
#include "gateway/call/name_filter.h"
#include "gateway/call/name_table.h"
#include "gateway/call/quota_filter.h"
#include "gateway/call/rule_filter.h"
#include "gateway/call/trace_filter.h"
#include "gateway/observer.h"
#include "gateway/policy/quotas.h"
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
  size_t method_names = 500;  // methods that metrics tell apart; as many tools
  // Names that have their own labels from the start.
  std::vector<std::string> known_methods{};
  std::vector<std::string> known_tools{};
  std::vector<config::RoleConfig> roles{};
  // Shared by backends with the same id; outlives them. Null: the backend has its own.
  call::BackendNames* names = nullptr;
  Duration input_timeout = std::chrono::minutes(5);                // of parked calls
  std::function<std::string(std::string_view)> hide_secrets = {};  // see PoolServices
  // Shared by backends that have the same clients. Null: the backend has its own.
  std::shared_ptr<policy::ClientQuotas> quotas = nullptr;
  // Makes the filter that answers while no child runs; none: no such filter.
  pool::MakeRecall make_recall = nullptr;
  bool has_principals = false;  // clients can authenticate, though some may be anonymous
};

class Backend final : public Upstream, private pool::PoolEvents {
 public:
  // The code that gives the `id` tells the observer of it first, because a backend reports names
  // from the beginning.
  Backend(BackendId id, BackendOptions options, std::unique_ptr<pool::Dialect> dialect,
          session::Callers& callers, const pool::CoreServices& core);
  ~Backend() override = default;

  void start() override { pool_.start(); }

  Admission accept(const rpc::ParsedMessage& message, const call::CallContext& context) override;
  void refuse(const rpc::FaultReport& report, std::string_view id,
              const call::CallContext& context) override {
    chain_.on_fault(refused_call(id, context), report);
  }
  void count_refused(const rpc::FaultReport& report, std::string_view id,
                     const call::CallContext& context) override {
    chain_.end(*refused_call(id, context), Outcome::of(report.fault), report.detail);
  }
  void cancel_calls_of(session::Caller caller) override { cancel(withdraw(caller)); }

  bool take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) override;
  tl::expected<session::SessionId, rpc::FaultReport> open_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client) override {
    auto obstacle = find_obstacle(client);
    if (obstacle) return tl::unexpected(*std::move(obstacle));
    return sessions_.open(caller, sink, client,
                          sleeping_ && sleeping_->recall().may_greet_sessions());
  }
  void close_session(session::SessionId session, std::string_view why) override;
  tl::expected<session::SessionId, rpc::FaultReport> adopt_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client,
      const session::Beginning& beginning) override {
    auto obstacle = find_obstacle(client);
    if (obstacle) return tl::unexpected(*std::move(obstacle));
    auto session = sessions_.adopt(caller, sink, client, beginning);
    // Its former child may have promised changes. A session with a child of its own hears of them
    // there.
    if (session && pool_.peer_kind() == PeerKind::stateless) bridge_->go_on(*session);
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
      sessions_.end_unless([this](const policy::Principal* who) { return rules_.serves(who); },
                           session::SessionEnd::denied, "no rule lets this client in any more");
    }
    notices_.tell();
    // Clients that listen have to ask again, and are judged again.
    end_listening();
  }
  void set_limits(const config::LimitsConfig& limits,
                  const config::TimeoutsConfig& timeouts) override;
  void end_listening() override {
    for (const call::CallPtr& call :
         pool_.withdraw([](const call::Call& call) { return call.listens && !call.is_own; })) {
      bridge_->end_listening(*call);
    }
  }

  // See Pool.
  void drain() override {
    pool_.drain();
    bridge_->drain();
    const auto listens = [](const call::Call& call) { return call.listens; };
    for (const call::CallPtr& call : pool_.withdraw(listens)) bridge_->end_listening(*call);
  }
  void fail_calls(const rpc::FaultReport& report) override {
    chain_.fail_held(report);
    pool_.fail_calls(report);
  }
  void end_children(Duration grace) override { pool_.end_children(grace); }
  [[nodiscard]] size_t calls() const override {
    return pool_.calls() + bridge_->asking() + chain_.held();
  }
  [[nodiscard]] size_t kept_messages() const override { return bridge_->parked() + pool_.queued(); }
  void drop_caches() override {
    chain_.drop_kept();
    calls_.drop_kept();
  }
  [[nodiscard]] bool has_children() const override { return pool_.has_children(); }
  [[nodiscard]] bool gave(const rpc::Envelope& request,
                          const call::CallContext& context) const override;
  [[nodiscard]] bool holds_work() const override;

  [[nodiscard]] pool::BackendStatus status() const override {
    pool::BackendStatus status;
    status.name = name();
    sessions_.describe(status);
    pool_.describe(status);
    status.parked_calls = bridge_->parked() + bridge_->asking();
    for (pool::ChildStatus& child : status.children) {
      const call::ChildWork work = chain_.work_of(child.number);
      child.states = work.states;
      child.tasks = work.tasks;
    }
    if (sleeping_) sleeping_->recall().describe(status);
    return status;
  }
  void check_invariants() override {
    pool_.check_invariants();
    sessions_.check_invariants();
    bridge_->check_invariants();
    const auto check = [this](const call::Call& call) { sessions_.check_owner(call); };
    pool_.for_each_call(check);
    bridge_->for_each_call(check);
    chain_.for_each_held(check);
  }
  // The filters that a request passes, in their order.
  [[nodiscard]] std::span<const std::string_view> filters() const { return chain_.names(); }

 private:
  // The last filter of the chain, which gives calls to the pool.
  class Bottom final : public call::Filter {
   public:
    explicit Bottom(Backend& backend) : backend_(backend) {}
    void on_request(call::CallPtr& call, const call::Request& request) override {
      backend_.take(call, request);
    }

   private:
    Backend& backend_;
  };

  void take(call::CallPtr& call, const call::Request& request);
  void on_answer(call::CallPtr call, const rpc::Envelope& answer) override {
    chain_.on_answer(std::move(call), answer);
  }
  void on_fault(call::CallPtr call, const rpc::FaultReport& report) override {
    chain_.on_fault(std::move(call), report);
  }
  void on_greeted_again(std::string_view params, const rpc::Envelope& answer) override {
    if (sleeping_) sleeping_->recall().note_greeting(params, answer);
  }
  void on_misdirected(call::CallPtr call, const call::Outgoing& message) override;
  Admission accept_request(const rpc::Envelope& request, const call::CallContext& context);
  std::shared_ptr<Bridge> make_bridge();
  void assemble();
  Admission accept_notification(const rpc::Envelope& notification,
                                const call::CallContext& context);
  // The calls of this caller, wherever they are.
  std::vector<call::CallPtr> withdraw(session::Caller caller) {
    std::vector<call::CallPtr> calls =
        pool_.withdraw([caller](const call::Call& call) { return call.caller == caller; });
    for (call::CallPtr& call : bridge_->withdraw(caller)) calls.push_back(std::move(call));
    const auto is_its = [caller](const call::Call& call) { return call.caller == caller; };
    for (call::CallPtr& call : chain_.take_held(is_its)) calls.push_back(std::move(call));
    return calls;
  }
  bool accept_cancel(std::string_view id, const call::CallContext& context);
  // How clients share the children that get a message with this context.
  [[nodiscard]] config::Isolation isolation_of(const call::CallContext& context) const {
    return pool_.lane().has(context.session) ? config::Isolation::session
                                             : config::Isolation::shared;
  }
  void cancel(const std::vector<call::CallPtr>& calls) {
    for (const call::CallPtr& call : calls) {
      finish_cancelled(*call, pool::CancelReason::client_left);
    }
  }
  void finish_cancelled(const call::Call& call, pool::CancelReason reason) {
    chain_.end(call, Outcome::cancelled(), pool::cancel_reason_text(reason));
  }
  call::CallPtr begin_call(std::string_view id, const call::Arrival& arrival);
  // A call that is refused without a look at its message.
  call::CallPtr refused_call(std::string_view id, const call::CallContext& context) {
    core_.observer.on_call_started(Upstream::id());
    return begin_call(id, {.context = context, .is_refused = true});
  }
  // The reason why the client cannot have a session; nothing: it can.
  std::optional<rpc::FaultReport> find_obstacle(const policy::Client& client) {
    if (!rules_.serves(client.principal.get())) {
      core_.observer.on_rejected(id(), Rejection::denied);
      return rpc::faults::because(rpc::Fault::denied, "no rule of this backend is about you");
    }
    return capacity_.obstacle_of_session(client.account.get());
  }
  [[nodiscard]] tl::expected<call::ClientIntent, const char*> intent_of(
      const rpc::Envelope& request, std::string_view method,
      const call::CallContext& context) const {
    return dialect_->read_client(request, method,
                                 {isolation_of(context), context.peer_kind, context.params});
  }
  // Brings a request that has passed all filters to the pool.
  void send(call::CallPtr call, const call::Request& request, bool is_shared);
  void submit(call::CallPtr call, const rpc::Envelope& request, call::Outgoing& message);
  Admission drop(DropReason reason) {
    core_.observer.on_dropped(id(), reason);
    if (services_.traces) pool::trace_dropped(services_, reason);
    return Admission::dropped;
  }
  Admission refuse_notification() {
    drop(DropReason::overloaded);
    return Admission::refused_overloaded;
  }

  BackendOptions options_;  // constant, except for what the bridge changes
  const std::unique_ptr<pool::Dialect> dialect_;
  session::Callers& callers_;
  const pool::CoreServices& core_;
  const std::unique_ptr<call::BackendNames> own_names_;  // null: they are shared
  call::BackendNames& names_of_calls_;
  std::string method_;  // scratch
  std::string key_;     // scratch
  call::CallStore calls_;
  pool::PoolServices services_;
  const call::ChainServices chain_services_;
  call::Chain chain_;
  call::NameFilter names_;
  call::TraceFilter traces_;
  call::CapacityFilter capacity_;
  call::QuotaFilter quotas_;
  ListWatchFilter lists_;
  const bool has_peer_kinds_;  // see PeerKind
  call::RuleFilter rules_;
  Bottom bottom_{*this};
  const std::shared_ptr<Bridge> bridge_;  // does nothing where the protocol has one kind
  SessionRouter sessions_;
  SessionDelivery delivery_;
  ListNotices notices_;
  ChainListener children_say_;
  pool::Pool pool_;
  SessionMemos memos_;
  std::optional<SleepingServer> sleeping_;  // nothing: nothing is remembered
  std::shared_ptr<void> outer_filters_;     // of the protocol; null: it has none
  std::shared_ptr<void> judging_filters_;
  std::shared_ptr<void> inner_filters_;
};

}  // namespace stdgate::backend
