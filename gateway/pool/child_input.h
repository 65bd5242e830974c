// ChildInput: writes to a child: messages with their edits, and answers to its own requests, in the
// framing of its backend.
//
// Owner: the child. Limits: Child bounds calls and notifications (ChildLink::kHighWatermark).
// Answers are dropped, and counted, while more than kMaxUnsentAnswers bytes are unread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/call/call.h"
#include "gateway/call/splice.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/correlator.h"

namespace stdgate::pool {

class ChildInput {
 public:
  // `name` outlives it.
  ChildInput(const PoolServices& services, const ChildName& name)
      : services_(services), name_(name) {}

  // Called once, before anything is written. The link outlives this.
  void open(ChildLink& link) { link_ = &link; }

  // Whether the child is sent messages without "jsonrpc".
  void omit_version(bool omitted) { omits_version_ = omitted; }

  // `peer_kind`: the kind of the child. `id`: the wire id of a request.
  void write(const call::Outgoing& message, std::optional<PeerKind> peer_kind,
             std::optional<rpc::WireId> id = std::nullopt);
  void write_note(const call::Outgoing& message, std::optional<PeerKind> peer_kind);
  // A message of the gateway's own.
  void write_text(std::string_view text);
  // Answers to requests of the child: a client's answer, or a result or an error of the gateway.
  void write_answer(const call::Outgoing& answer, std::optional<PeerKind> peer_kind);
  void write_result(std::string_view id, std::string_view result);
  void write_error(std::string_view id, int code, std::string_view message);

 private:
  static constexpr size_t kMaxUnsentAnswers = 2 * ChildLink::kHighWatermark;

  [[nodiscard]] bool takes_answers() const;
  void write_without_version(call::Splice& splice);

  const PoolServices& services_;
  const ChildName& name_;
  ChildLink* link_ = nullptr;
  std::string frame_head_;  // scratch
  bool omits_version_ = false;
};

// Farewell: asks a process to go as its protocol demands: by a shutdown request, and by a
// notification once that is answered or has not been answered for too long.
//
// Each step may take a third of config.pool.grace: the answer, the exit, and the signals that
// follow. Owner: the child.
class Farewell {
 public:
  Farewell(const PoolServices& services, ChildInput& input)
      : services_(services), input_(input), timer_(services.core.timers, [this] { finish(); }) {}

  // Sends the shutdown request with this id. False, and without effect: the protocol has none.
  bool begin(rpc::WireId id, ChildLink& link);
  // The request is not answered yet.
  [[nodiscard]] bool is_under_way() const { return request_.has_value(); }
  [[nodiscard]] bool is(rpc::WireId id) const { return request_ == id; }
  // The request was answered, in whatever way, or its time is over.
  void finish();
  // The process has gone.
  void stop() { timer_.disarm(); }

 private:
  const PoolServices& services_;
  ChildInput& input_;
  ChildLink* link_ = nullptr;           // from begin() on
  std::optional<rpc::WireId> request_;  // while it is not answered
  Timer timer_;
};

}  // namespace stdgate::pool
