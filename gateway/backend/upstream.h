// Upstream: what endpoints, connections and MCP sessions know of the core: it takes the messages of
// clients and answers them.
//
// Contract: one thread, that of the loop. Implementations hold no pointer to a client, only
// callers and the sinks of open sessions; they may call a sink from inside of a call of theirs (an
// answer that is known at once). Implemented by Backend (a pool of children) and
// PrincipalPools (a backend for each principal). Owner: Upstreams.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "gateway/backend/list_watches.h"
#include "gateway/base/account.h"
#include "gateway/base/client_address.h"
#include "gateway/base/time.h"
#include "gateway/call/call_context.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/policy/client.h"
#include "gateway/pool/backend_status.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/fault.h"
#include "gateway/session/session_sink.h"

namespace stdgate::backend {

// What became of a client's message.
enum class Admission : uint8_t {
  answered_by_reply,   // a request: its answer comes, or came, through the sink
  delivered,           // a notification: written to a child or queued for one
  dropped,             // it has no receiver; counted
  refused_overloaded,  // a notification that no child has room for
};

// What an upstream is.
struct UpstreamFacts {
  BackendId id = 0;
  std::string name;          // the first part of its paths
  bool is_default = false;   // served at the root too
  bool is_required = false;  // the gateway is not ready without it
  config::Protocol protocol = config::Protocol::jsonrpc;
  rpc::CodeSet codes = rpc::CodeSet::plain;  // of its faults
  rpc::EnvelopeLimits envelope_limits;       // of clients' messages
  // Sessions have a child of their own: its output can be held, and does not have to be dropped.
  bool owns_children = false;
  size_t max_sessions = SIZE_MAX;  // that have a use for a child
  Duration timeout{0};             // of a call that has no deadline of its own, from its arrival on
  Duration idle_timeout{0};        // after which an MCP session without traffic is parked
  Duration grace{0};               // which children get to end by themselves; see end_children()
  HeldBytes* held = nullptr;       // what is kept at it, for clients too; null: it is not counted
};

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

  // One message of a client, good or rejected. A request is answered through the caller's sink,
  // possibly before accept() returns. The message's bytes are needed during the call only.
  virtual Admission accept(const rpc::ParsedMessage& message, const call::CallContext& context) = 0;
  // Takes `message` if it cancels a call that is under way, which needs no room. False: nothing has
  // been done.
  virtual bool take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) = 0;
  // Answers, and counts, a request that never became a message: its text could not be read, or its
  // body was too large.
  // `id` is raw JSON, or empty for null.
  virtual void refuse(const rpc::FaultReport& report, std::string_view id,
                      const call::CallContext& context) = 0;
  // As refuse(), for a transport that answers by itself: counts only.
  virtual void count_refused(const rpc::FaultReport& report, std::string_view id,
                             const call::CallContext& context) = 0;
  // The client has gone: its calls are cancelled at the children and never answered.
  virtual void cancel_calls_of(session::Caller caller) = 0;

  // --- Sessions -------------------------------------------------------------------------------

  // Opens a session for the client behind `sink`, which is registered as `caller` and outlives the
  // session. Refused when there are too many, while the upstream cannot serve any, and when
  // the client's address has had too many children for sessions of late.
  virtual tl::expected<session::SessionId, rpc::FaultReport> open_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client) = 0;
  // Cancels the session's calls at the children and ends its own child. The sink of the session is
  // not called any more. `why`: empty if the client has gone, and then the calls are not answered;
  // else they are answered by a fault that says `why`. Without effect on a session that is closed.
  virtual void close_session(session::SessionId session, std::string_view why) = 0;
  // As open_session(), for a session that has begun so in another process. It gets a child with its
  // first message.
  virtual tl::expected<session::SessionId, rpc::FaultReport> adopt_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client,
      const session::Beginning& beginning) = 0;
  // Ends the own child of a session that is idle; its next message gets it another one.
  virtual session::Parking park_session(session::SessionId session) = 0;
  // The client does not answer what it has been asked: the children get an error.
  virtual void give_up_asks(session::SessionId session) = 0;
  // `held`: the client takes too little, so the output of the session's own child is not read.
  // Without effect on shared children, and on one that has been asked to go.
  virtual void hold_child(session::SessionId session, bool held) = 0;

  // Rules that hold for all that comes from now on. `backend` has them, and the allowlist of
  // methods; nothing else of it is taken over.
  virtual void set_rules(const config::BackendConfig& backend,
                         const std::vector<config::RoleConfig>& roles) = 0;

  // Limits and timeouts that hold from now on. Connections and children that are there keep the
  // limits of messages that they began with. Whether messages are traced follows the level of the
  // log.
  virtual void set_limits(const config::LimitsConfig& limits,
                          const config::TimeoutsConfig& timeouts) = 0;

  // Clients whose calls last as long as they listen get the results of these, and ask again.
  virtual void end_listening() = 0;
  // Tells the clients of all sessions that theirs is over, for this reason.
  virtual void end_sessions(session::SessionEnd end, std::string_view message) = 0;

  // Told from now on until it is gone, from inside of calls of this upstream.
  void watch_lists(std::weak_ptr<ListWatch> watch) { list_watches_.add(std::move(watch)); }

  // --- What children have given out (call::ChildWork), before and after a reload ----------------

  // `former` has been replaced by this one: what its children have given out goes back to them
  // while they run.
  void succeed(Upstream& former);
  // It is not configured any more. A request of MCP that stands alone is taken only if it brings
  // back what a child has given out here.
  void retire() { is_retired_ = true; }
  // Whether this request brings back what a child of this upstream has given out, which runs.
  [[nodiscard]] virtual bool gave(const rpc::Envelope& /*request*/,
                                  const call::CallContext& /*context*/) const {
    return false;
  }
  // Whether children have given out what clients may come back for.
  [[nodiscard]] virtual bool holds_work() const { return false; }

  // --- Its own life ---------------------------------------------------------------------------

  virtual void start() = 0;
  // Shutdown, step by step: nothing new is taken; calls under way are answered with a fault;
  // children are asked to end, and killed after `grace`, at once when it is zero.
  virtual void drain() = 0;
  virtual void fail_calls(const rpc::FaultReport& report) = 0;
  virtual void end_children(Duration grace) = 0;
  [[nodiscard]] virtual size_t calls() const = 0;  // waiting or in flight
  // Messages that are kept though nobody need be there: of calls whose clients have been answered,
  // and may go on with them, and those that wait for a child.
  [[nodiscard]] virtual size_t kept_messages() const { return 0; }
  // Frees what is kept only to be faster.
  virtual void drop_caches() {}
  [[nodiscard]] virtual bool has_children() const = 0;

  [[nodiscard]] virtual pool::BackendStatus status() const = 0;
  // Ends the process if an invariant is broken. Not from inside of a call of the core.
  virtual void check_invariants() {}

 protected:
  [[nodiscard]] ListWatches& list_watches() { return list_watches_; }
  void set_owns_children(bool owns) { facts_.owns_children = owns; }
  void set_envelope_limits(const config::LimitsConfig& limits) {
    facts_.envelope_limits.depth = limits.depth;
    facts_.envelope_limits.batch = limits.batch;
  }
  // What has become of a message that is not for this upstream; nothing: it is.
  std::optional<Admission> redirect(const rpc::ParsedMessage& message,
                                    const call::CallContext& context) {
    return former_ == nullptr && !is_retired_ ? std::nullopt : pass_elsewhere(message, context);
  }

 private:
  std::optional<Admission> pass_elsewhere(const rpc::ParsedMessage& message,
                                          const call::CallContext& context);

  // But for is_default, is_required, owns_children and envelope_limits as at the beginning.
  UpstreamFacts facts_;
  Upstream* former_ = nullptr;     // that it has replaced; null: there is none any more
  Upstream* successor_ = nullptr;  // the other way round
  bool is_retired_ = false;
  ListWatches list_watches_;
};

}  // namespace stdgate::backend
