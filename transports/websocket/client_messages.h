// The messages of one WebSocket client, on their way to the core and kept before it; and whether
// they come in time (ClientPulse).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/acp/acp_connections.h"
#include "gateway/backend/upstream.h"
#include "gateway/base/byte_storage.h"
#include "gateway/base/slot_map.h"
#include "gateway/base/time.h"
#include "gateway/base/trace_context.h"
#include "gateway/config/config.h"
#include "gateway/policy/quotas.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/batch_answer.h"
#include "gateway/session/sinks.h"

namespace stdgate::http {
class Server;
}  // namespace stdgate::http

namespace stdgate::websocket {

// ClientPulse: whether a WebSocket client is alive, and whether its messages come in time.
//
// A value without a clock or a timer. A client that is silent for timeouts.ping is to be pinged,
// and then has timeouts.pong to send anything. A message has to arrive at limits.min_rate, and be
// complete within timeouts.request, like the body of a request. Owner: a WebSocket connection.
class ClientPulse {
 public:
  // --- Silence
  // Bytes have come, or reading was paused, so that none could come.
  void note_heard(TimePoint now) {
    heard_ = now;
    pinged_.reset();
  }
  void note_ping(TimePoint now) { pinged_ = now; }
  [[nodiscard]] bool awaits_pong() const { return pinged_.has_value(); }
  // When the client is to be pinged, or given up.
  [[nodiscard]] TimePoint silence_due(const config::TimeoutsConfig& timeouts) const {
    return pinged_ ? *pinged_ + timeouts.pong : heard_ + timeouts.ping;
  }

  // --- Messages
  // After each step while a message is incomplete and is being read.
  void note_part(TimePoint now, uint64_t bytes_read) {
    if (receiving_) return;
    receiving_ = now;
    rate_.begin(now, bytes_read);
  }
  // A message is complete, or no part of one has come.
  void note_message() { receiving_.reset(); }
  // When the last byte of an incomplete message came; nothing: there is no such message.
  [[nodiscard]] std::optional<TimePoint> receiving_since() const {
    return receiving_ ? std::optional(heard_) : std::nullopt;
  }
  [[nodiscard]] TimePoint message_due(const config::TimeoutsConfig& timeouts) const {
    if (!receiving_) return TimePoint::max();
    return std::min(rate_.due(timeouts.body), *receiving_ + timeouts.request);
  }
  bool is_message_late(TimePoint now, const config::TimeoutsConfig& timeouts, size_t min_rate,
                       uint64_t bytes_read) {
    return receiving_ &&
           (now >= *receiving_ + timeouts.request ||
            rate_.is_slow(now, timeouts.body, min_rate, [bytes_read] { return bytes_read; }));
  }

 private:
  TimePoint heard_{};  // the last byte of the client, or when reading went on
  std::optional<TimePoint> pinged_;
  std::optional<TimePoint> receiving_;  // since its first byte
  policy::RateWindow rate_;             // while receiving_
};

// KeptMessages: the messages of a client that have been read while the core takes none, in their
// order, each with the time of its arrival.
//
// Owner: a WebSocket connection, which bounds size(). An empty one holds no storage.
class KeptMessages {
 public:
  explicit KeptMessages(StoragePool& storages) : bytes_(storages) {}
  KeptMessages(const KeptMessages&) = delete;
  KeptMessages& operator=(const KeptMessages&) = delete;

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  // Bytes of all kept messages.
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] size_t capacity() const { return bytes_.capacity(); }

  void push(std::string_view text, TimePoint arrived);
  // The oldest one, which may be changed; valid until push(), pop() or clear(). There must be one.
  [[nodiscard]] std::span<char> front();
  [[nodiscard]] TimePoint front_arrived() const { return front_head().arrived; }
  void pop();
  void clear() { bytes_.release(); }

 private:
  struct Head {
    size_t length = 0;
    TimePoint arrived{};
  };
  [[nodiscard]] Head front_head() const;

  PooledBuffer bytes_;  // of each message its head, then its text
};

// Sends one message, the concatenation of the parts; called from within a call of the core.
using AnswerWriter = std::function<void(std::span<const std::string_view> parts)>;

// ClientMessages: the messages of one WebSocket client on their way to the core, and the answers of
// its batches on their way back.
//
// Job: hand each message over to the session's upstream. While the upstream takes no messages, keep
// those that need room there, in their order, and hand the others over at once: answers to
// children, and cancels of calls under way. Collect the answers of a batch. A modern MCP message
// stands alone: it does not belong to the session, and is judged like a message on stdio. Owner: a
// WebSocket connection, which says when kept messages may continue. Limits: kMaxOpenBatches; the
// connection stops reading when kept() is too much.
class ClientMessages {
 public:
  static constexpr size_t kMaxOpenBatches = 64;

  // Where the messages go.
  struct Route {
    backend::Upstream& backend;
    rpc::EnvelopeParser& parser;  // of all connections; used within a call only
    // Null, or the keeper of the session, which it knows by `kept_id`.
    acp::AcpConnections* keeper = nullptr;
    std::string kept_id{};
  };
  // Who sends the messages.
  struct Label {
    uint64_t connection = 0;
    TraceContext trace;
    policy::PrincipalRef principal;  // null: anonymous
    Payer payer;                     // of the client, whose account the connection keeps
  };

  ClientMessages(http::Server& server, const Route& route, Label label, AnswerWriter write_answer);

  // The sender of the messages; null: unknown.
  [[nodiscard]] const policy::Principal* principal() const { return label_.principal.get(); }

  // The client's session; `sink` outlives it.
  tl::expected<void, rpc::FaultReport> open_session(session::SessionSink& sink,
                                                    const ClientAddress& client);
  [[nodiscard]] session::SessionId session() const {
    return keeper_ == nullptr ? own_.id() : lent_.session;
  }
  // Sends what the client has missed of a kept session. Called once the client can be told
  // something.
  void replay() {
    if (keeper_ != nullptr) keeper_->replay(kept_id_, *sink_);
  }
  // Ends the session: its calls are cancelled, and waiting messages dropped. A kept session is only
  // detached. Without effect the second time.
  void close_session();

  // --- From the client
  // The next message, which may be changed.
  void take(std::span<char> text) {
    if (waits()) return keep(text);
    hand_over(text, context());
  }
  // Whether messages that need room in the core's queues are kept.
  [[nodiscard]] bool waits() const { return !core_reads_ || !kept_.empty(); }
  [[nodiscard]] bool core_reads() const { return core_reads_; }
  void set_core_reads(bool reads) { core_reads_ = reads; }
  [[nodiscard]] size_t kept() const { return kept_.size(); }  // bytes
  // Hands the oldest kept message over to the core, whether that takes messages or not. False: none
  // is kept.
  bool hand_over_next();
  // When the time of the oldest kept message is over, if it is a call: it is to be handed over
  // then, so that the core can say so. max(): none is kept.
  [[nodiscard]] TimePoint kept_due() const {
    return kept_.empty() ? TimePoint::max() : kept_.front_arrived() + backend_.timeout();
  }

  // --- From the core
  void finish(session::Tag tag, const session::Reply& reply);
  void finish_cancelled(session::Tag tag);
  // Whether what a child tells the session is for the client: not for one of MCP's modern era,
  // which has not asked for it.
  [[nodiscard]] bool hears_session() const { return !has_modern_ || has_legacy_; }
  // Whether the client's last message lacked the member "jsonrpc": it is spoken to likewise.
  [[nodiscard]] bool omits_version() const { return omits_version_; }
  // No message of the client is kept or waits for its answer.
  [[nodiscard]] bool is_idle() const { return calls_ == 0 && kept_.empty(); }
  [[nodiscard]] bool has_calls() const { return calls_ > 0; }

  // --- Memory
  // Of the messages that are kept.
  [[nodiscard]] size_t held() const { return kept_.capacity(); }
  // Gives back what no open batch needs.
  void release_memory();

 private:
  using Batches = SlotMap<session::BatchAnswer>;

  tl::expected<void, rpc::FaultReport> attach(session::SessionSink& sink);
  void note_answer(const rpc::ParsedMessage& message);
  [[nodiscard]] call::CallContext context() const;
  void hand_over(std::span<char> text, const call::CallContext& context);
  void dispatch_single(const rpc::Document& document, const call::CallContext& context);
  void hand_over_modern(const rpc::Document& document, call::CallContext context);
  void refuse_modern(std::string_view id, const call::CallContext& context, std::string_view error,
                     const char* reason);
  void keep(std::span<char> text);
  bool take_answer(const rpc::ParsedMessage& message);
  void accept_batch(const rpc::Document& batch, call::CallContext context);
  void refuse(const rpc::FaultReport& report, const call::CallContext& context);
  void end_call();
  session::BatchAnswer& batch(Handle handle);
  void finish_batch(Handle handle);

  http::Server& server_;
  backend::Upstream& backend_;
  rpc::EnvelopeParser& parser_;
  const Label label_;
  ClientAddress client_;  // from open_session() on
  const AnswerWriter write_answer_;
  acp::AcpConnections* const keeper_;  // null: the session is the connection's own
  const std::string kept_id_;
  session::SessionSink* sink_ = nullptr;  // with keeper_
  backend::OpenSession own_;              // none when the core is not connected, or with keeper_
  acp::AcpConnection::Kept lent_;         // by keeper_
  KeptMessages kept_;
  std::unique_ptr<Batches> batches_;
  size_t calls_ = 0;  // not answered
  size_t bytes_ = 0;  // of the text that is being handed over
  bool core_reads_ = true;
  bool has_modern_ = false;  // a message of MCP's modern era has come
  bool has_legacy_ = false;  // another request has
  bool omits_version_ = false;
};

}  // namespace stdgate::websocket
