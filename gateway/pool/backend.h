// Backend: one configured stdio server: its dialect, its method names, its pool of children.
//
// Job: take what clients send, bring it to a child, answer each request exactly once whatever
// happens, and tell the observer of each call once. The one path for every transport.
// Owner: BackendSet. Holds no pointer to a client (origins only).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/observer.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/name_table.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"
#include "gateway/pool/session_router.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/session_sink.h"

namespace stdgate {

// Where a message comes from and where its answer goes.
struct CallContext {
  Origin origin;
  SessionId session;  // none: the message stands alone
  Tag tag = 0;
  Transport transport = Transport::http;
  uint64_t connection = 0;    // for the log
  std::string_view trace_id;  // for the log; needed during the call only
  TimePoint arrived{};
  bool wants_events = false;  // notifications that belong to the call go to ReplySink::on_event()
};

// What became of a client's message.
enum class Admission : uint8_t {
  answered_by_reply,   // a request: its answer comes, or came, through the sink
  delivered,           // a notification: written to a child or queued for one
  dropped,             // nobody is to get it; counted
  refused_overloaded,  // a notification that no child has room for
};

struct BackendOptions {
  BackendConfig config;
  LimitsConfig limits;
  LaunchSpec launch;
  size_t method_names = 500;  // told apart in metrics; and as many names of tools
};

class Backend final : private PoolEvents {
 public:
  Backend(BackendId id, BackendOptions options, std::unique_ptr<Dialect> dialect, Origins& origins,
          const CoreServices& core);
  ~Backend() override;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  [[nodiscard]] BackendId id() const { return id_; }
  [[nodiscard]] const std::string& name() const { return options_.config.name; }
  [[nodiscard]] bool is_default() const { return options_.config.is_default; }
  [[nodiscard]] Protocol protocol() const { return options_.config.protocol; }
  [[nodiscard]] CodeSet codes() const { return dialect_->codes(); }
  [[nodiscard]] const EnvelopeLimits& envelope_limits() const { return envelope_limits_; }

  void start() { pool_.start(); }

  // One message of a client, good or rejected. A request is answered through the origin's sink,
  // possibly before accept() returns. The message's bytes are needed during the call only.
  Admission accept(const ParsedMessage& message, const CallContext& context);

  // Answers, and counts, a request that never became a message: unreadable text, too large a body.
  // `id` is raw JSON, or empty for null.
  void refuse(const FaultReport& report, std::string_view id, const CallContext& context);
  // As refuse(), for a caller without an origin: it answers by itself, this counts only.
  void count_refused(const FaultReport& report, std::string_view id, const CallContext& context);

  // Opens a session for the client behind `sink`, which is registered as `origin` and outlives the
  // session. Refused when there are too many, and while the backend cannot serve any.
  tl::expected<SessionId, FaultReport> open_session(Origin origin, SessionSink& sink);
  // Its client has gone: its calls are cancelled at the children and never answered, and its own
  // child is ended. The sink is not told anything any more.
  void close_session(SessionId session);
  // Whether the client takes what its own child says: while held, the child's output is not read.
  // Without effect on shared children, and on one that has been asked to go.
  void hold_child(SessionId session, bool held);
  // Sessions have a child of their own: its output can be held, and does not have to be dropped.
  [[nodiscard]] bool owns_children() const {
    return options_.config.isolation == Isolation::session;
  }

  // The origin's client has gone: its calls are cancelled at the children and never answered.
  void cancel_calls_of(Origin origin);

  // See Pool.
  void drain() { pool_.drain(); }
  void fail_calls(const FaultReport& report) { pool_.fail_calls(report); }
  void end_children(Duration grace) { pool_.end_children(grace); }
  [[nodiscard]] Duration idle_timeout() const { return options_.config.pool.idle_timeout; }
  [[nodiscard]] Duration grace() const { return options_.config.pool.grace; }
  [[nodiscard]] size_t calls() const { return pool_.calls(); }
  [[nodiscard]] bool has_children() const { return pool_.has_children(); }

  [[nodiscard]] BackendStatus status() const;

 private:
  void on_answer(CallPtr call, const Envelope& answer) override;
  void on_fault(CallPtr call, const FaultReport& report) override;
  void on_event(const Call& call, const Envelope& notification,
                Outgoing::Place progress_token) override;
  void on_notification(Child& child, const Envelope& notification,
                       std::string_view method) override;
  void on_request(Child& child, const Envelope& request, std::string_view method) override;
  void on_spare_room(Child& child) override;
  void on_child_gone(uint64_t number) override;
  [[nodiscard]] bool is_needed(uint64_t child) const override;
  void on_reading(SessionId session, bool reading) override;
  void on_session_end(SessionId session, SessionEnd end, std::string_view message) override;

  Admission accept_request(const Envelope& request, const CallContext& context);
  bool accept_subscription(const ClientIntent& intent, CallPtr& call, Outgoing& message);
  Admission accept_notification(const Envelope& notification, const CallContext& context);
  bool accept_cancel(std::string_view id, const CallContext& context);
  [[nodiscard]] Isolation lane_of(const CallContext& context) const;
  void finish_cancelled(const Call& call, CancelReason reason);
  CallPtr make_call(std::string_view id, std::string_view method, const CallContext& context);
  [[nodiscard]] std::string_view method_name(const Call& call) const;
  [[nodiscard]] std::string_view tool_name(const Call& call) const;
  void note_tool(Call& call, std::string_view spelled);
  void finish(const Call& call, Outcome outcome, const Reply* reply, std::string_view detail);
  void answer(const Call& call, std::string_view result);
  Admission drop(DropReason reason);

  const BackendId id_;
  const BackendOptions options_;
  const std::unique_ptr<Dialect> dialect_;
  Origins& origins_;
  const CoreServices& core_;
  const EnvelopeLimits envelope_limits_;
  NameTable methods_;
  NameTable tools_;
  std::string method_;  // scratch
  std::string tool_;    // scratch
  std::string key_;     // scratch
  CallStore calls_;
  const PoolServices services_;
  Pool pool_;
  SessionRouter sessions_;
};

}  // namespace stdgate
