// CacheFilter: answers modern requests with results that children have given to other requests.
//
// The filter stands below the rules and the claims. So the kept results are the words of the child,
// and are cut and sealed for each client. Results are dropped when a list changes or a shared child
// ends. Owner: the backend (Dialect::add_filters). Limits: the limits of AnswerCache.
#pragma once

#include <string>

#include "gateway/call/chain.h"
#include "gateway/mcp/answer_cache.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

class CacheFilter final : public call::Filter {
 public:
  explicit CacheFilter(const pool::FilterServices& services)
      : services_(services.services),
        pool_(services.pool),
        chain_(services.chain),
        states_(services.services.calls.reserve<State>()),
        cache_(services.services.payer) {}

  void on_request(call::CallPtr& call, const call::Request& request) override {
    if (request.context.peer_kind == PeerKind::stateless) answer(call, request);
  }
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const State* const state = states_.find(call->slots);
    if (state == nullptr || call->child_kind != PeerKind::stateless) return;
    cache_.keep(state->identity, state->key, answer.message, call->child, now());
  }
  bool on_child_message(call::ChildMessage& message) override;
  void on_child_gone(const call::ChildRef& child) override {
    if (child.is_shared) cache_.clear();
  }
  void drop_kept() override { cache_.clear(); }

 private:
  // State of a call whose answer may be kept.
  struct State {
    std::string key;
    std::string identity;  // of the client

    void clear() {
      call::clear_text(key);
      call::clear_text(identity);
    }
  };

  void answer(call::CallPtr& call, const call::Request& request);
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;
  const call::Slot<State> states_;
  AnswerCache cache_;
};

}  // namespace stdgate::mcp
