// VirtualServer: one endpoint for several backends of MCP, its members.
//
// Job: say which filters stand in front of the Aggregate, which hands each message to a member. The
// filters judge, count and record by the names that clients are shown. Endpoints and sessions know
// it as an upstream like any other. Owner: Upstreams. Limits: the
// default of pool.sessions, and the limits of the Aggregate.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/filtered_upstream.h"
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

class VirtualServer final : public backend::FilteredUpstream {
 public:
  // `names`: the names that metrics tell apart. They outlive the server.
  VirtualServer(BackendId id, VirtualServerOptions options, std::unique_ptr<pool::Dialect> dialect,
                call::LabelNames& names, session::Callers& callers, const pool::CoreServices& core);

  // Takes over what may change while it runs: members, expose, instructions. attach() follows.
  void take(const config::ServerConfig& config);
  // Which upstreams the members are today: at the start, and after each reload.
  void attach(const backend::Upstreams& upstreams, const config::Config& config) {
    aggregate_.attach(upstreams, config);
  }

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
  [[nodiscard]] std::vector<std::string> members() const override {
    return aggregate_.member_names();
  }
  void check_invariants() override { aggregate_.check_invariants(); }

 private:
  void assemble();
  // FilteredUpstream
  backend::Admission accept_request(const rpc::Envelope& request,
                                    const call::CallContext& context) override;
  [[nodiscard]] call::Reading reading_of(const call::CallContext& context) const override {
    return {.peer_kind = context.peer_kind, .params = context.params};
  }
  backend::Admission forward(const call::Notification& notification,
                             const call::ClientIntent& intent) override;
  bool take_answer(session::SessionId session, const rpc::Envelope& answer) override;
  bool cancel_call(session::Caller caller, std::string_view id) override {
    return aggregate_.cancel(caller, id);
  }
  [[nodiscard]] SessionName name_of(session::SessionId session) const override;

  config::ServerConfig config_;
  const std::string version_;
  Aggregate aggregate_;
};

}  // namespace stdgate::servers
