// PrincipalPools: an upstream with a pool of children for each principal (isolation: principal). So
// two principals never share a process, and each has its own credentials in its children's
// environment.
//
// Job: find the upstream of a message's principal, make it with the principal's first message, and
// end it when it has been idle for the upstream's idle_timeout, or when another principal needs its
// place. Sessions get ids of PrincipalPools, because the ids of two pools may be equal. `lobby`
// answers calls without a principal, and what is refused before a pool is asked; it never starts a
// child. Owner: Upstreams. Limits: `max_pools` pools, and as many that are ending; further
// principals get a fault.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/base/log.h"
#include "gateway/base/slot_map.h"
#include "gateway/base/time.h"
#include "gateway/policy/client.h"

namespace stdgate::backend {

class PrincipalPools final : public Upstream {
 public:
  // Makes the upstream of one principal, not started yet. An error says, for the log, why it
  // cannot.
  using Make =
      std::function<tl::expected<std::unique_ptr<Upstream>, std::string>(const policy::Principal&)>;

  struct Services {
    const Clock& clock;
    TimerQueue& timers;
    Log& log;
    Observer& observer;
  };

  // Interval of the checks for pools that are idle or have ended.
  static constexpr Duration kSweep = std::chrono::seconds(1);

  PrincipalPools(UpstreamFacts facts, size_t max_pools, std::unique_ptr<Upstream> lobby, Make make,
                 const Services& services);
  ~PrincipalPools() override;

  Admission accept(const rpc::ParsedMessage& message, const call::CallContext& context) override;
  bool take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) override;
  void refuse(const rpc::FaultReport& report, const UnreadRequest& request,
              const call::CallContext& context) override {
    lobby_->refuse(report, request, context);
  }
  void count_refused(const rpc::FaultReport& report, const UnreadRequest& request,
                     const call::CallContext& context) override {
    lobby_->count_refused(report, request, context);
  }
  void cancel_calls_of(session::Caller caller) override;

  tl::expected<session::SessionId, rpc::FaultReport> open_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client) override;
  void close_session(session::SessionId session, std::string_view why) override;
  tl::expected<session::SessionId, rpc::FaultReport> adopt_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client,
      const session::Beginning& beginning) override;
  session::Parking park_session(session::SessionId session) override;
  void give_up_asks(session::SessionId session) override;
  void hold_child(session::SessionId session, bool held) override;

  void end_listening() override;
  void end_sessions(session::SessionEnd end, std::string_view message) override;

  void set_limits(const config::LimitsConfig& limits,
                  const config::TimeoutsConfig& timeouts) override;
  void set_rules(const config::BackendConfig& backend,
                 const std::vector<config::RoleConfig>& roles) override;

  // Starts nothing, because no principal is known yet.
  void start() override {}
  void drain() override;
  void fail_calls(const rpc::FaultReport& report) override;
  void end_children(Duration grace) override;
  [[nodiscard]] size_t calls() const override;
  [[nodiscard]] size_t kept_messages() const override;
  void drop_caches() override;
  [[nodiscard]] bool has_children() const override;
  [[nodiscard]] bool gave(const rpc::Envelope& request,
                          const call::CallContext& context) const override;
  [[nodiscard]] bool holds_work() const override;

  // The status of all pools together. The backend counts as ready even if a pool fails, because
  // other principals' children may still start.
  [[nodiscard]] pool::BackendStatus status() const override;
  [[nodiscard]] pool::BackendState state() const override;
  void check_invariants() override;

  [[nodiscard]] size_t pools() const { return pools_.size(); }

 private:
  struct Pool;
  struct Session {
    Pool* pool = nullptr;
    session::SessionId inner;
  };
  // Pools by the key of their principal: kind, issuer, name.
  using Pools = std::unordered_map<std::string, std::unique_ptr<Pool>>;

  // The pool of the message's session or principal. Null: none has been made.
  [[nodiscard]] Pool* find(const call::CallContext& context);
  tl::expected<Pool*, rpc::FaultReport> find_or_make(const policy::Principal* principal);
  tl::expected<Pool*, rpc::FaultReport> make(const policy::Principal& principal);
  bool free_place();
  void retire(Pools::iterator place);
  void sweep();
  [[nodiscard]] call::CallContext inner_context(const call::CallContext& context);
  tl::expected<session::SessionId, rpc::FaultReport> add_session(
      const policy::Client& client,
      const std::function<tl::expected<session::SessionId, rpc::FaultReport>(Upstream&)>& open);
  template <class Visitor>
  void for_each(Visitor&& visit) const;
  class PoolWatch;
  void drop(DropReason reason);
  [[nodiscard]] TimePoint now() const { return services_.clock.now(); }

  const size_t max_pools_;
  const std::unique_ptr<Upstream> lobby_;
  const Make make_;
  const Services services_;
  Pools pools_;
  std::vector<std::unique_ptr<Pool>> ending_;  // they take nothing new
  SlotMap<Session> sessions_;
  std::string key_;  // scratch
  // Repeat the last reload, for pools that are made after it; empty: there was none.
  std::function<void(Upstream&)> set_rules_;
  std::function<void(Upstream&)> set_limits_;
  RateLimit refusals_{1};
  bool draining_ = false;
  Timer sweep_timer_;
};

}  // namespace stdgate::backend
