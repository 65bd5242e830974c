// VirtualServer: one endpoint for several backends of MCP, its members.
//
// Job: have each message of a client pass the filters that every backend has, which judge, count
// and record by the names that it shows, and end in the Aggregate, which hands it to a member.
// Endpoints and sessions know it as an upstream like any other. Owner: Upstreams. Limits: the
// default of pool.sessions, and the limits of the Aggregate.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/call/capacity_filter.h"
#include "gateway/call/chain.h"
#include "gateway/call/name_filter.h"
#include "gateway/call/name_table.h"
#include "gateway/call/quota_filter.h"
#include "gateway/call/rule_filter.h"
#include "gateway/call/trace_filter.h"
#include "gateway/pool/dialect.h"
#include "gateway/servers/aggregate.h"

namespace stdgate::servers {

struct VirtualServerOptions {
  config::ServerConfig config;
  config::LimitsConfig limits;
  std::vector<config::RoleConfig> roles;
  // Names that have their own labels from the start.
  std::vector<std::string> known_methods{};
  std::vector<std::string> known_tools{};
  std::string version;  // of the gateway
};

class VirtualServer final : public backend::Upstream {
 public:
  // `names`: the names that metrics tell apart. They outlive the server.
  VirtualServer(BackendId id, VirtualServerOptions options, std::unique_ptr<pool::Dialect> dialect,
                call::BackendNames& names, session::Callers& callers,
                const pool::CoreServices& core);

  // Takes over what may change while it runs: members, expose, instructions. attach() follows.
  void take(const config::ServerConfig& config);
  // Which upstreams the members are today: at the start, and after each reload.
  void attach(const backend::Upstreams& upstreams, const config::Config& config) {
    aggregate_.attach(upstreams, config);
  }

  backend::Admission accept(const rpc::ParsedMessage& message,
                            const call::CallContext& context) override;
  bool take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) override;
  void refuse(const rpc::FaultReport& report, std::string_view id,
              const call::CallContext& context) override;
  void count_refused(const rpc::FaultReport& report, std::string_view id,
                     const call::CallContext& context) override;
  void cancel_calls_of(session::Caller caller) override;

  tl::expected<session::SessionId, rpc::FaultReport> open_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client) override {
    return adopt_session(caller, sink, client, {});
  }
  void close_session(session::SessionId session, std::string_view why) override;
  tl::expected<session::SessionId, rpc::FaultReport> adopt_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client,
      const session::Beginning& beginning) override;
  session::Parking park_session(session::SessionId session) override;
  void give_up_asks(session::SessionId session) override;
  void hold_child(session::SessionId session, bool held) override;
  void end_sessions(session::SessionEnd end, std::string_view message) override;

  void set_rules(const config::BackendConfig& backend,
                 const std::vector<config::RoleConfig>& roles) override;
  void set_limits(const config::LimitsConfig& limits,
                  const config::TimeoutsConfig& timeouts) override;
  void end_listening() override { aggregate_.end_listening(); }

  void start() override {}
  void drain() override;
  void fail_calls(const rpc::FaultReport& report) override;
  // A virtual server has no children of its own.
  void end_children(Duration /*grace*/) override {}
  [[nodiscard]] bool has_children() const override { return false; }
  [[nodiscard]] size_t calls() const override { return aggregate_.calls(); }
  [[nodiscard]] size_t own_callers() const override { return aggregate_.own_callers(); }
  [[nodiscard]] pool::BackendStatus status() const override;
  // The filters that a request passes, in their order.
  [[nodiscard]] std::span<const std::string_view> filters() const { return chain_.names(); }

 private:
  void assemble();
  backend::Admission accept_request(const rpc::Envelope& request, const call::CallContext& from);
  backend::Admission accept_notification(const rpc::Envelope& notification,
                                         const call::CallContext& context);
  backend::Admission drop(DropReason reason);
  call::CallPtr refused_call(std::string_view id, const call::CallContext& context);

  VirtualServerOptions options_;
  const config::BackendConfig backend_config_;  // what stands for it in the chain
  const std::unique_ptr<pool::Dialect> dialect_;
  session::Callers& callers_;
  const pool::CoreServices& core_;
  call::BackendNames& names_of_calls_;
  bool traces_messages_ = false;
  std::string method_;  // scratch
  call::CallStore calls_;
  const call::ChainServices chain_services_;
  call::Chain chain_;
  call::NameFilter names_;
  call::TraceFilter traces_;
  call::CapacityFilter capacity_;
  call::QuotaFilter quotas_;
  call::RuleFilter rules_;
  Aggregate aggregate_;
};

}  // namespace stdgate::servers
