// EraAnswers: notes the revision that a client speaks, and translates answers of children for
// clients of the other era (era_bridge.h).
//
// The filter stands above the rules, because these judge and cut the words of the child. Owner: the
// backend, by the result of Dialect::add_filters().
#pragma once

#include <string>

#include "gateway/call/chain.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

class EraAnswers final : public call::Filter {
 public:
  explicit EraAnswers(const pool::FilterServices& services)
      : texts_(services.services.calls.reserve<call::KeptText>()) {
    services.chain.add("eras", *this);
  }

  void on_begin(call::Call& call, const call::Arrival& arrival) override {
    if (arrival.context.peer_kind == PeerKind::stateless) call.revision = kModernRevision;
  }
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const PeerKind client = call->client_kind.value_or(PeerKind::stateful);
    if (call->child_kind && *call->child_kind != client) translate(*call, client, answer);
  }

 private:
  void translate(call::Call& call, PeerKind client, call::Answer& answer) const;

  const call::Slot<call::KeptText> texts_;  // the translated end of the answer
};

}  // namespace stdgate::mcp
