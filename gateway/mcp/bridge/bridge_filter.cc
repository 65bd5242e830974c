#include "gateway/mcp/bridge/bridge_filter.h"

#include <utility>

namespace stdgate::mcp {

void BridgeFilter::on_request(call::CallPtr& call, const call::Request& request) {
  const auto& [message, method, intent, context] = request;
  if (context.peer_kind == PeerKind::stateless && !call->needs_stateless)
    parts_.trips.note_request(message);
  if (!parts_.pool.lane().has(context.session)) parts_.rounds.note(message, method, *call);
  const auto own = parts_.modern.own_answer(method, *call);
  if (own.empty()) return;
  const call::CallPtr answered = std::move(call);
  parts_.chain.answer_result(*answered, own);
}

void BridgeFilter::on_answer(call::CallPtr& call, call::Answer& answer) {
  const bool is_taken = (call->alone && parts_.trips.take_answer(call, answer.message)) ||
                        parts_.rounds.take_answer(call, answer.message);
  if (is_taken) {
    call = nullptr;
  } else if (call->listens && answer.outcome == Outcome::ok()) {
    // The result names the call by its id again.
    const call::CallPtr ended = std::move(call);
    parts_.modern.end_listening(*ended);
  }
}

void BridgeFilter::on_end(const call::Call& call, call::End& end) {
  if (call.alone) parts_.trips.note_end(call, end.outcome);
  if (call.listens) {
    parts_.watches.close(call);
  } else if (!call.request.empty()) {
    parts_.rounds.note_end(call);
  }
}

}  // namespace stdgate::mcp
