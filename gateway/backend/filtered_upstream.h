// FilteredUpstream: base class of upstreams whose messages pass a chain of filters.
//
// Job: own the filters of every protocol and say where they stand; begin a call for each request
// and hand it to the chain; answer what is malformed; count what is dropped. The derived class adds
// the other filters and the end of the chain: a pool of children (Backend), or members
// (servers::VirtualServer). Owner: Upstreams.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/call/chain.h"
#include "gateway/call/limit_filters.h"
#include "gateway/call/name_filter.h"
#include "gateway/call/rule_filter.h"
#include "gateway/call/trace_filter.h"
#include "gateway/policy/quotas.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::backend {

// The settings of the filters that backends and virtual servers have in common.
struct FilterOptions {
  config::BackendConfig config;  // of a virtual server: what stands for it, see as_backend()
  config::LimitsConfig limits;
  std::vector<config::RoleConfig> roles{};
  size_t method_names = 500;  // methods that metrics tell apart; as many tools
  // Names that have their own labels from the start.
  std::vector<std::string> known_methods{};
  std::vector<std::string> known_tools{};
  // Shared by upstreams with the same id; outlives them. Null: the upstream has its own.
  call::LabelNames* names = nullptr;
  // Shared by upstreams that have the same clients. Null: the upstream has its own.
  std::shared_ptr<policy::ClientQuotas> quotas = nullptr;
};

class FilteredUpstream : public Upstream {
 public:
  Admission accept(const rpc::ParsedMessage& message, const call::CallContext& context) final;
  bool take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) final;
  void refuse(const rpc::FaultReport& report, const UnreadRequest& request,
              const call::CallContext& context) final {
    chain_.on_fault(refused_call(request, context), report);
  }
  void count_refused(const rpc::FaultReport& report, const UnreadRequest& request,
                     const call::CallContext& context) final {
    chain_.end(*refused_call(request, context), Outcome::of(report.fault), report.detail);
  }
  void set_limits(const config::LimitsConfig& limits,
                  const config::TimeoutsConfig& timeouts) override;
  void drop_caches() override;
  // The filters that a request passes, in their order.
  [[nodiscard]] std::span<const std::string_view> filters() const { return chain_.names(); }

 protected:
  // The code that gives the `id` tells the observer of it first, because an upstream reports names
  // from the beginning.
  FilteredUpstream(BackendId id, FilterOptions options, std::unique_ptr<pool::Dialect> dialect,
                   session::Callers& callers, const pool::CoreServices& core);

  // --- The order, from the client on. The derived class adds its own filters between.
  void add_first_filters();
  void add_rules() { chain_.add("rules", rules_); }
  void add_trace() { chain_.add("trace", traces_); }

  // --- Messages: what the derived class decides
  virtual Admission accept_request(const rpc::Envelope& request, const call::CallContext& context);
  [[nodiscard]] virtual call::Reading reading_of(const call::CallContext& context) const = 0;
  // Gives a notification that has passed the chain to its receivers.
  virtual Admission forward(const call::Notification& notification,
                            const call::ClientIntent& intent) = 0;
  // A client's answer to a question. False: nothing waits for it.
  virtual bool take_answer(session::SessionId session, const rpc::Envelope& answer) = 0;
  // Cancels a client's call. False: no such call.
  virtual bool cancel_call(session::Caller caller, std::string_view id) = 0;
  // The name of an open session; none: there is no such session.
  [[nodiscard]] virtual SessionName name_of(session::SessionId session) const = 0;

  // Why the client cannot have a session; nothing: it can.
  std::optional<rpc::FaultReport> find_obstacle(const policy::Client& client);
  Admission drop(DropReason reason);
  Admission refuse_notification() {
    drop(DropReason::overloaded);
    return Admission::refused_overloaded;
  }

  [[nodiscard]] config::BackendConfig& config() { return options_.config; }
  [[nodiscard]] const FilterOptions& options() const { return options_; }
  [[nodiscard]] const pool::Dialect& dialect() const { return *dialect_; }
  [[nodiscard]] session::Callers& callers() { return callers_; }
  [[nodiscard]] const pool::CoreServices& core() const { return core_; }
  [[nodiscard]] call::CallStore& call_store() { return calls_; }
  [[nodiscard]] const call::ChainServices& chain_services() const { return chain_services_; }
  [[nodiscard]] call::Chain& chain() { return chain_; }
  [[nodiscard]] const call::Chain& chain() const { return chain_; }
  [[nodiscard]] call::LabelNames& known_names() { return names_of_calls_; }
  [[nodiscard]] call::TraceFilter& traces() { return traces_; }
  [[nodiscard]] const call::CapacityFilter& capacity() const { return capacity_; }
  [[nodiscard]] call::RuleFilter& rules() { return rules_; }

 private:
  Admission accept_notification(const rpc::Envelope& notification,
                                const call::CallContext& context);
  Admission reject(const rpc::ParsedMessage& message, const call::CallContext& context);
  // A call that is refused without a look at its message.
  call::CallPtr refused_call(const UnreadRequest& request, const call::CallContext& context);

  FilterOptions options_;  // constant, but for the limits and what a bridge changes
  const std::unique_ptr<pool::Dialect> dialect_;
  session::Callers& callers_;
  const pool::CoreServices& core_;
  const std::unique_ptr<call::LabelNames> own_names_;  // null: they are shared
  call::LabelNames& names_of_calls_;
  bool logs_messages_;  // see ChainServices
  std::string method_;  // scratch
  call::CallStore calls_;
  const call::ChainServices chain_services_;
  call::Chain chain_;
  call::NameFilter names_;
  call::TraceFilter traces_;
  call::CapacityFilter capacity_;
  call::QuotaFilter quotas_;
  call::RuleFilter rules_;
};

}  // namespace stdgate::backend
