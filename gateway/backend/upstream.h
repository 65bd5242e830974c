// Upstreams, as endpoints and sessions know them: an upstream, a session of it, watches of its
// lists, and the set of all upstreams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/base/time.h"
#include "gateway/call/call_context.h"
#include "gateway/call/filter.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/policy/client.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/fault.h"
#include "gateway/session/sinks.h"

namespace stdgate::backend {

// ListWatch: hears when lists of an upstream (tools, prompts, resources) may have changed.
// Implemented by members of virtual servers, and by PrincipalPools for each of its pools.
class ListWatch {
 public:
  virtual ~ListWatch() = default;
  // A child has reported a change, or is known to answer differently from another child. `lists`:
  // bits of the dialect (pool::Audience). `identity`: of the principal whose child it is, see
  // policy::identity_of(); empty: all share it.
  virtual void on_lists_changed(uint8_t lists, std::string_view identity) = 0;
  // A shared child has gone; the next one may be another program.
  virtual void on_restart(std::string_view identity) = 0;
  // How many calls listen for this watch that need not keep the server awake.
  [[nodiscard]] virtual size_t resting() const { return 0; }
  // The server goes to sleep: these calls end, and none of them may start it.
  virtual void on_sleep() {}
  virtual void on_awake() {}
};

// ListWatches: the watches of one upstream. A watch that has been destroyed hears nothing. Owner:
// the upstream.
class ListWatches {
 public:
  void add(std::weak_ptr<ListWatch> watch) { watches_.push_back(std::move(watch)); }
  void tell_changed(uint8_t lists, std::string_view identity = {});
  void tell_restart(std::string_view identity = {});
  [[nodiscard]] size_t resting() const;
  void tell_sleep();
  void tell_awake();

 private:
  void for_each(const std::function<void(ListWatch&)>& visit);

  std::vector<std::weak_ptr<ListWatch>> watches_;
};

// ListWatchFilter: passes reports of children on to the watches. Owner: the backend.
class ListWatchFilter final : public call::Filter {
 public:
  ListWatchFilter(ListWatches& watches, const pool::Dialect& dialect)
      : watches_(watches), dialect_(dialect) {}

  bool on_child_message(call::ChildMessage& message) override;
  void on_child_gone(const call::ChildRef& child) override {
    if (child.is_shared) watches_.tell_restart();
  }

 private:
  ListWatches& watches_;
  const pool::Dialect& dialect_;
};

// The fate of a client's message.
enum class Admission : uint8_t {
  answered_by_reply,   // a request: its answer comes, or came, through the sink
  delivered,           // a notification: written to a child or queued for one
  dropped,             // it has no receiver; counted
  refused_overloaded,  // a notification that no child has room for
};

// The facts about an upstream.
struct UpstreamFacts {
  BackendId id = 0;
  std::string name;          // the first part of its paths
  bool is_default = false;   // also served at the root
  bool is_required = false;  // the gateway is not ready without it
  config::Protocol protocol = config::Protocol::jsonrpc;
  rpc::CodeSet codes = rpc::CodeSet::plain;  // of its faults
  rpc::EnvelopeLimits envelope_limits;       // of clients' messages
  // Whether sessions have a child of their own, whose output can be held in place of being dropped.
  bool owns_children = false;
  size_t max_sessions = SIZE_MAX;  // sessions that need a child
  Duration timeout{0};             // of a call without a deadline of its own, from its arrival on
  Duration idle_timeout{0};        // after which a silent session is parked
  Duration grace{0};               // time for children to end by themselves; see end_children()
  HeldBytes* held = nullptr;       // counts what is kept at this upstream; null: not counted
};

// A request that never became a message.
struct UnreadRequest {
  std::string_view id{};  // raw JSON; empty: null
  size_t bytes = 0;       // of its text; 0: not known
};

// Upstream: the core as endpoints, connections and sessions know it. An upstream takes the messages
// of clients and answers them.
//
// Contract: one thread, the thread of the loop. Implementations hold no pointer to a client, only
// callers and the sinks of open sessions. They may call a sink from within a call of theirs, when
// an answer is known at once. Implemented by Backend (a pool of children), PrincipalPools (a
// backend for each principal) and servers::VirtualServer. Owner: Upstreams.
class Upstream {
 public:
  explicit Upstream(UpstreamFacts facts) : facts_(std::move(facts)) {}
  virtual ~Upstream();
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  [[nodiscard]] BackendId id() const { return facts_.id; }
  [[nodiscard]] const std::string& name() const { return facts_.name; }
  [[nodiscard]] bool is_default() const { return facts_.is_default; }
  void set_default(bool is_default) { facts_.is_default = is_default; }
  [[nodiscard]] bool is_required() const { return facts_.is_required; }
  void set_required(bool is_required) { facts_.is_required = is_required; }
  [[nodiscard]] config::Protocol protocol() const { return facts_.protocol; }
  [[nodiscard]] rpc::CodeSet codes() const { return facts_.codes; }
  [[nodiscard]] const rpc::EnvelopeLimits& envelope_limits() const {
    return facts_.envelope_limits;
  }
  [[nodiscard]] bool owns_children() const { return facts_.owns_children; }
  [[nodiscard]] size_t max_sessions() const { return facts_.max_sessions; }
  [[nodiscard]] Duration timeout() const { return facts_.timeout; }
  [[nodiscard]] Duration idle_timeout() const { return facts_.idle_timeout; }
  [[nodiscard]] Duration grace() const { return facts_.grace; }
  [[nodiscard]] HeldBytes* held() const { return facts_.held; }

  // --- Calls ----------------------------------------------------------------------------------

  // Takes one message of a client, valid or rejected. A request is answered through the caller's
  // sink, possibly before accept() returns. The bytes of the message are needed during the call
  // only.
  virtual Admission accept(const rpc::ParsedMessage& message, const call::CallContext& context) = 0;
  // Takes `message` if it cancels a call that is under way, which needs no room. False: nothing has
  // been done.
  virtual bool take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) = 0;
  // Answers, and counts, a request that never became a message, because its text could not be read
  // or its body was too large.
  virtual void refuse(const rpc::FaultReport& report, const UnreadRequest& request,
                      const call::CallContext& context) = 0;
  // Only counts the refusal, because the transport answers by itself. Otherwise like refuse().
  virtual void count_refused(const rpc::FaultReport& report, const UnreadRequest& request,
                             const call::CallContext& context) = 0;
  // The client has gone: its calls are cancelled at the children and never answered.
  virtual void cancel_calls_of(session::Caller caller) = 0;

  // --- Sessions -------------------------------------------------------------------------------

  // Opens a session for the client behind `sink`, which is registered as `caller` and outlives the
  // session. Refused when there are too many sessions, when the upstream cannot serve any, and when
  // the client's address has had too many children for sessions of late.
  virtual tl::expected<session::SessionId, rpc::FaultReport> open_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client) = 0;
  // Cancels the session's calls at the children and ends its own child. The session's sink is not
  // called any more. `why`: if empty, the client has gone, and the calls are not answered;
  // otherwise a fault with this text answers them. Without effect on a closed session.
  virtual void close_session(session::SessionId session, std::string_view why) = 0;
  // Opens a session that has begun in another process with `beginning`. The session gets a child
  // with its first message. Otherwise like open_session().
  virtual tl::expected<session::SessionId, rpc::FaultReport> adopt_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client,
      const session::Beginning& beginning) = 0;
  // Ends the own child of an idle session. The next message gets the session another child.
  virtual session::Parking park_session(session::SessionId session) = 0;
  // The client will not answer the questions that it was asked: the children get an error.
  virtual void give_up_asks(session::SessionId session) = 0;
  // `held`: the client takes too little, so the output of the session's own child is not read.
  // Without effect on shared children, and on a child that has been asked to go.
  virtual void hold_child(session::SessionId session, bool held) = 0;

  // Sets the rules for all later messages. Only the rules and the allowlist of methods are taken
  // from `backend`.
  virtual void set_rules(const config::BackendConfig& backend,
                         const std::vector<config::RoleConfig>& roles) = 0;

  // Sets limits and timeouts. Present connections and children keep the message limits that they
  // began with. Whether messages are logged follows the level of the log.
  virtual void set_limits(const config::LimitsConfig& limits,
                          const config::TimeoutsConfig& timeouts) = 0;

  // Ends calls that listen, with their results, so that their clients ask again.
  virtual void end_listening() = 0;
  // Ends all sessions, and tells their clients the reason.
  virtual void end_sessions(session::SessionEnd end, std::string_view message) = 0;

  // The watch hears of changes until it is destroyed, possibly from within calls of this upstream.
  void watch_lists(std::weak_ptr<ListWatch> watch) { list_watches_.add(std::move(watch)); }

  // --- Claims of children (call::ChildWork), before and after a reload ------------------------

  // This upstream has replaced `former`. Claims that the children of `former` have given out go
  // back to these children while they run.
  void succeed(Upstream& former);
  // The upstream is not configured any more. From now on, a request without a session is taken only
  // if it brings back a claim that a child has given out here.
  void retire() { is_retired_ = true; }
  // Whether this request brings back a claim of a child of this upstream that still runs.
  [[nodiscard]] virtual bool gave(const rpc::Envelope& /*request*/,
                                  const call::CallContext& /*context*/) const {
    return false;
  }
  // Whether children have given out claims that clients may bring back.
  [[nodiscard]] virtual bool holds_work() const { return false; }

  // --- Life cycle -----------------------------------------------------------------------------

  virtual void start() = 0;
  // Shutdown, step by step: take no new messages; answer calls under way with a fault; ask children
  // to end, and kill them after `grace` (zero: at once).
  virtual void drain() = 0;
  virtual void fail_calls(const rpc::FaultReport& report) = 0;
  virtual void end_children(Duration grace) = 0;
  [[nodiscard]] virtual size_t calls() const = 0;  // waiting or in flight
  // Messages that are kept without a client's connection: calls that clients may continue after a
  // first answer, and messages that wait for a child.
  [[nodiscard]] virtual size_t kept_messages() const { return 0; }
  // Caller slots that it has as long as it lives, as it asks others in its own name.
  [[nodiscard]] virtual size_t own_callers() const { return 0; }
  // Frees memory that only makes the upstream faster.
  virtual void drop_caches() {}
  [[nodiscard]] virtual bool has_children() const = 0;

  [[nodiscard]] virtual pool::BackendStatus status() const = 0;
  // The state that status() tells, without the cost of the rest.
  [[nodiscard]] virtual pool::BackendState state() const { return status().state; }
  // Names of the backends that a virtual server consists of; of another upstream none.
  [[nodiscard]] virtual std::vector<std::string> members() const { return {}; }
  // Ends the process if an invariant is broken. Must not be called from within the core.
  virtual void check_invariants() {}

 protected:
  [[nodiscard]] ListWatches& list_watches() { return list_watches_; }
  void set_owns_children(bool owns) { facts_.owns_children = owns; }
  void set_envelope_limits(const config::LimitsConfig& limits) {
    facts_.envelope_limits.depth = limits.depth;
    facts_.envelope_limits.batch = limits.batch;
  }
  // Where a message went that is not for this upstream; nothing: it is for this one.
  std::optional<Admission> redirect(const rpc::ParsedMessage& message,
                                    const call::CallContext& context) {
    return former_ == nullptr && !is_retired_ ? std::nullopt : pass_elsewhere(message, context);
  }

 private:
  std::optional<Admission> pass_elsewhere(const rpc::ParsedMessage& message,
                                          const call::CallContext& context);

  // Constant, except is_default, is_required, owns_children and envelope_limits.
  UpstreamFacts facts_;
  Upstream* former_ = nullptr;     // replaced by this; null: none, or it has gone
  Upstream* successor_ = nullptr;  // has replaced this
  bool is_retired_ = false;
  ListWatches list_watches_;
};

// The facts about a backend that rarely change, from its configuration and its protocol.
UpstreamFacts upstream_facts(BackendId id, const config::BackendConfig& config,
                             const config::LimitsConfig& limits, const pool::Dialect& dialect,
                             HeldBytes* held);

// OpenSession: a session of an upstream, and the place of its sink among the callers. Both are
// taken together, and given back together.
//
// Owner: the object that is, or has, the sink. The owner closes the session before the upstream
// goes.
class OpenSession {
 public:
  // Both outlive this.
  OpenSession(Upstream& upstream, session::Callers& callers)
      : upstream_(upstream), callers_(callers) {}
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;

  // See Upstream. Only while is_none().
  tl::expected<void, rpc::FaultReport> open(session::SessionSink& sink,
                                            const policy::Client& client);
  tl::expected<void, rpc::FaultReport> adopt(session::SessionSink& sink,
                                             const policy::Client& client,
                                             const session::Beginning& beginning);
  // See Upstream::close_session(). Without effect while is_none().
  void close(std::string_view why);

  [[nodiscard]] bool is_none() const { return caller_.is_none(); }
  [[nodiscard]] session::Caller caller() const { return caller_.caller(); }
  [[nodiscard]] session::SessionId id() const { return id_; }

 private:
  tl::expected<void, rpc::FaultReport> keep(
      const tl::expected<session::SessionId, rpc::FaultReport>& opened);

  Upstream& upstream_;
  session::Callers& callers_;
  session::CallerSlot caller_;
  session::SessionId id_;
};

// The tags of a document's calls: consecutive ones, beginning with the context's, or the context's
// tag for all.
enum class Tags : uint8_t { one_each, shared };

// Passes the messages of a document to an upstream, one by one and in order. Transports that take
// batches use it. AcpConnection, and ClientMessages for answers, call accept() themselves. Calls
// `expect(message, context)` before each message, because its answer may come at once, and
// `leave_out()` after a message that will get no answer. False: no message was taken, for lack of
// room.
template <class Expect, class LeaveOut>
bool dispatch(Upstream& upstream, const rpc::Document& document, call::CallContext context,
              Tags tags, Expect&& expect, LeaveOut&& leave_out) {
  bool some_taken = false;
  for (const rpc::ParsedMessage& message : document.messages) {
    expect(message, context);
    const Admission admission = upstream.accept(message, context);
    if (admission != Admission::answered_by_reply) leave_out();
    some_taken = some_taken || admission != Admission::refused_overloaded;
    if (tags == Tags::one_each) ++context.tag;
  }
  return some_taken;
}

// Upstreams: the upstreams that a gateway serves, and upstreams of former configurations that still
// have work to finish. They are independent: the failure of one does not affect the others. Owner:
// the generation.
class Upstreams {
 public:
  void add(std::unique_ptr<Upstream> upstream) { upstreams_.push_back(std::move(upstream)); }

  [[nodiscard]] Upstream* find(std::string_view name) const;  // null: none
  [[nodiscard]] Upstream* default_one() const;                // served at the root; null: none
  [[nodiscard]] const std::vector<std::unique_ptr<Upstream>>& all() const { return upstreams_; }

  // Takes out the served upstreams, so that add() and retire() can distribute them again.
  [[nodiscard]] std::vector<std::unique_ptr<Upstream>> take_all() {
    return std::exchange(upstreams_, {});
  }
  // The upstream is not served any more, but finishes what it has begun.
  void retire(std::unique_ptr<Upstream> upstream) { retired_.push_back(std::move(upstream)); }
  [[nodiscard]] const std::vector<std::unique_ptr<Upstream>>& retired() const { return retired_; }
  // Destroys a retired upstream that is not in use. Must not be called from within a call of it.
  void remove(const Upstream& retired);

  void start();
  // The client has gone: cancels its calls at the children; they are never answered. Afterwards the
  // transport removes the client from Callers.
  void cancel_calls_of(session::Caller caller);

  // Shutdown, step by step, of retired upstreams too; see Pool.
  void drain();
  void fail_calls(const rpc::FaultReport& report);
  void end_children();
  void kill_children();
  [[nodiscard]] size_t calls() const;
  [[nodiscard]] size_t kept_messages() const;
  [[nodiscard]] size_t own_callers() const;
  void drop_caches();
  [[nodiscard]] bool has_children() const;
  [[nodiscard]] Duration grace() const;  // the longest of all

  void check_invariants();  // see Upstream

 private:
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& upstream : upstreams_) visit(*upstream);
    for (const auto& upstream : retired_) visit(*upstream);
  }

  std::vector<std::unique_ptr<Upstream>> upstreams_;
  std::vector<std::unique_ptr<Upstream>> retired_;
};

}  // namespace stdgate::backend
