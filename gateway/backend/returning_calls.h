// ReturningCalls: calls that bring back to a child what it has given out, and what children give
// out on its way to clients: where the protocol's filter (CallFilter) meets the calls of a backend.
//
// Without a filter everything passes as it is. Owner: the backend, which owns the filter by it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/backend/modern_calls.h"
#include "gateway/backend/round_trips.h"
#include "gateway/call/call_context.h"
#include "gateway/pool/call_filter.h"
#include "gateway/pool/pool.h"

namespace stdgate::backend {

class ReturningCalls {
 public:
  // `pool` may not be constructed yet. `input_timeout` may change while it lives. `next`: what
  // hears of children behind the filter.
  ReturningCalls(const pool::PoolServices& services, pool::Pool& pool, pool::ChildListener& next,
                 pool::PoolEvents& events, TripEnds& ends, const ModernCalls& modern,
                 const Duration& input_timeout);

  // What hears of children first.
  [[nodiscard]] pool::ChildListener& listener() { return filter_ ? *filter_ : next_; }

  [[nodiscard]] bool has_filter() const { return filter_ != nullptr; }
  // What becomes of a request that shared children are for; nothing: it goes on as it is.
  std::optional<pool::CallFilter::Ruling> judge(const rpc::Envelope& request,
                                                std::string_view method,
                                                const call::CallContext& context, call::Call& call);
  // Whether the answer may be another one for the client.
  [[nodiscard]] bool may_change(const call::Call& call, const rpc::Envelope& answer) const {
    return filter_ != nullptr && answer.kind == rpc::MessageKind::result &&
           (call.child_era == Era::modern || !call.tool);
  }
  // The whole answer for the client, or the error instead. Nothing: it is as it is.
  [[nodiscard]] std::optional<tl::expected<std::string, call::Absence>> changed(
      const call::Call& call, std::string_view method, const rpc::Envelope& answer);
  // The same of a payload that was kept, of this child.
  [[nodiscard]] std::optional<tl::expected<std::string, call::Absence>> changed_payload(
      const call::Call& call, std::string_view method, std::string_view payload, uint64_t child);

  // See PoolEvents. `method` is decoded.
  void take_misdirected(call::CallPtr call, std::string_view method, const call::Outgoing& message);
  void take_lost_listener(call::CallPtr call, const rpc::FaultReport& report);
  void begin(const call::Call& call) {
    if (filter_ != nullptr && call.listens) filter_->begin_listening(call);
  }
  void note_returned(uint64_t child, uint64_t state) {
    if (state != 0) filter_->note_returned(child, state);
  }
  void end(const call::Call& call) {
    if (filter_ != nullptr) filter_->end_listening(call);
  }

  // See Upstream.
  [[nodiscard]] bool gave(const rpc::Envelope& request, const call::CallContext& context) const;
  [[nodiscard]] bool holds_work() const;
  void describe(pool::BackendStatus& status) const;

 private:
  // Of a request whose child is not there any more, or not of its era; nothing: a fault.
  [[nodiscard]] std::optional<call::Absence> error_of(const call::Call& call,
                                                      std::string_view method,
                                                      const call::Outgoing& message);

  pool::Pool& pool_;
  pool::ChildListener& next_;
  pool::PoolEvents& events_;
  TripEnds& ends_;
  const ModernCalls& modern_;
  const std::unique_ptr<pool::CallFilter> filter_;  // null: the protocol has none
};

}  // namespace stdgate::backend
