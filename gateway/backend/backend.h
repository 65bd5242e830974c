// Backend: one configured stdio server: an upstream whose chain ends in a pool of children.
//
// Job: say which filters stand in front of the pool; bring each request that has passed them to a
// child, and the answer back to the chain; know where the calls of a client are. Owner: Upstreams.
// Holds no pointer to a client: only callers and, in the router, sinks of sessions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/chain_listener.h"
#include "gateway/backend/filtered_upstream.h"
#include "gateway/backend/session_delivery.h"
#include "gateway/backend/session_memos.h"
#include "gateway/backend/session_router.h"
#include "gateway/backend/sleeping_server.h"
#include "gateway/observer.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/bridge.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/sinks.h"

namespace stdgate::backend {

// The settings of a backend: those of its filters, and those of its children.
struct BackendOptions : FilterOptions {
  pool::LaunchSpec launch{};
  Duration input_timeout = std::chrono::minutes(5);                // of parked calls
  std::function<std::string(std::string_view)> hide_secrets = {};  // see PoolServices
  // Makes the filter that answers while no child runs; none: no such filter.
  MakeSleepingServer make_sleeping = nullptr;
  bool has_principals = false;  // clients can authenticate, though some may be anonymous
};

class Backend final : public FilteredUpstream {
 public:
  // `id`: see FilteredUpstream.
  Backend(BackendId id, BackendOptions options, std::unique_ptr<pool::Dialect> dialect,
          session::Callers& callers, const pool::CoreServices& core);
  ~Backend() override = default;

  void start() override { pool_.start(); }

  void cancel_calls_of(session::Caller caller) override { cancel(withdraw(caller)); }

  tl::expected<session::SessionId, rpc::FaultReport> open_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client) override;
  void close_session(session::SessionId session, std::string_view why) override;
  tl::expected<session::SessionId, rpc::FaultReport> adopt_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client,
      const session::Beginning& beginning) override;
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
                 const std::vector<config::RoleConfig>& roles) override;
  void set_limits(const config::LimitsConfig& limits,
                  const config::TimeoutsConfig& timeouts) override;
  void end_listening() override;

  // See Pool.
  void drain() override;
  void fail_calls(const rpc::FaultReport& report) override {
    chain().fail_held(report);
    pool_.fail_calls(report);
  }
  void end_children(Duration grace) override { pool_.end_children(grace); }
  [[nodiscard]] size_t calls() const override { return pool_.calls() + chain().held(); }
  [[nodiscard]] size_t kept_messages() const override { return bridge_->parked() + pool_.queued(); }
  [[nodiscard]] bool has_children() const override { return pool_.has_children(); }
  [[nodiscard]] bool gave(const rpc::Envelope& request,
                          const call::CallContext& context) const override;
  [[nodiscard]] bool holds_work() const override;

  [[nodiscard]] pool::BackendStatus status() const override;
  [[nodiscard]] pool::BackendState state() const override { return pool_.state(); }
  void check_invariants() override;

 private:
  // The end of the chain, which gives calls to the pool.
  class PoolEnd final : public call::Filter {
   public:
    explicit PoolEnd(Backend& backend) : backend_(backend) {}
    void on_request(call::CallPtr& call, const call::Request& request) override {
      backend_.take(call, request);
    }

   private:
    Backend& backend_;
  };

  // FilteredUpstream
  [[nodiscard]] call::Reading reading_of(const call::CallContext& context) const override {
    return {isolation_of(context), context.peer_kind, context.params};
  }
  Admission forward(const call::Notification& notification,
                    const call::ClientIntent& intent) override;
  bool take_answer(session::SessionId session, const rpc::Envelope& answer) override {
    return sessions_.pass_answer(session, answer);
  }
  bool cancel_call(session::Caller caller, std::string_view id) override;
  [[nodiscard]] SessionName name_of(session::SessionId session) const override {
    const session::Session* const found = sessions_.find(session);
    return found == nullptr ? SessionName() : found->name;
  }

  std::shared_ptr<pool::Bridge> make_bridge(bool has_principals);
  void assemble();
  // Brings a request that has passed all filters to the pool.
  void take(call::CallPtr& call, const call::Request& request);
  void submit(call::CallPtr&& call, const rpc::Envelope& request, call::Outgoing& message);
  // The calls of this caller, wherever they are.
  std::vector<call::CallPtr> withdraw(session::Caller caller);
  void cancel(const std::vector<call::CallPtr>& calls);
  void finish_cancelled(const call::Call& call, pool::CancelReason reason) {
    chain().end(call, Outcome::cancelled(), pool::cancel_reason_text(reason));
  }
  // How clients share the children that get a message with this context.
  [[nodiscard]] config::Isolation isolation_of(const call::CallContext& context) const {
    return pool_.lane().has(context.session) ? config::Isolation::session
                                             : config::Isolation::shared;
  }

  pool::LaunchSpec launch_;
  Duration input_timeout_;
  pool::PoolServices services_;
  ListWatchFilter lists_;
  const bool has_peer_kinds_;  // see PeerKind
  PoolEnd end_{*this};
  const std::shared_ptr<pool::Bridge> bridge_;  // the protocol's part
  SessionRouter sessions_;
  SessionDelivery delivery_;
  ListNotices notices_;
  ChainListener children_say_;
  pool::Pool pool_;
  SessionMemos memos_;
  std::unique_ptr<SleepingServer> sleeping_;  // null: nothing is remembered
};

}  // namespace stdgate::backend
