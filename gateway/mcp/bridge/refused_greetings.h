// RefusedGreetings: sessions whose own child has refused their greeting, as a modern child does,
// because it knows no sessions.
//
// Where the configuration allows it (`share_modern`), such a session gives its child up, and a
// shared child answers its greeting. If the era is not known, that child is probed first. If the
// child is modern, the backend behaves as with `isolation: shared` from then on. If not, the client
// gets the refusal of its own child, and the session gets another child. Other messages of the
// session are refused meanwhile, because a client has to wait for the answer anyway. A shared child
// may turn out to be a legacy one later (the server was rolled back). Then sessions get children of
// their own again: each session is parked, and its next child is told what the client has told the
// gateway. Owner: the bridge.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/backend/session_router.h"
#include "gateway/call/chain.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_events.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

class McpBridge;

class RefusedGreetings final : public call::Filter {
 public:
  // `config`: the one in `services`.
  RefusedGreetings(config::BackendConfig& config, const pool::PoolServices& services,
                   pool::Pool& pool, backend::SessionRouter& sessions, McpBridge& bridge)
      : config_(config),
        services_(services),
        pool_(pool),
        sessions_(sessions),
        chain_(services.chain),
        bridge_(bridge),
        refusals_(services.calls.reserve<call::KeptText>()) {}

  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    if (is_refused(*call)) return take_second_answer(call);
    if (answer.message.kind == rpc::MessageKind::error) take_refusal(call, answer.message);
  }
  void on_fault(call::CallPtr& call, const rpc::FaultReport& /*report*/) override {
    if (is_refused(*call)) pass_refusal(call);
  }
  // The end of the call may end its session, which has to come after the answer.
  void on_ended(const call::Call& call) override {
    if (is_refused(call)) note_end(call);
  }
  // Children have refused a session in another process, or before a reload.
  void share_as_before() {
    if (config_.share_modern && pool_.peer_kind() == PeerKind::stateless) share_children();
  }
  // Shared children are of this era.
  void note_era(PeerKind peer_kind) {
    if (peer_kind == PeerKind::stateful && own_warm_ && !pool_.is_draining()) separate_children();
  }

 private:
  // Whether the session's own child has refused the call, and no shared child has taken it yet.
  [[nodiscard]] bool is_refused(const call::Call& call) const {
    const call::KeptText* const refusal = refusals_.find(call.slots);
    return refusal != nullptr && !refusal->text.empty();
  }
  void take_refusal(call::CallPtr& call, const rpc::Envelope& refusal);
  void take_second_answer(call::CallPtr& call);
  void pass_refusal(call::CallPtr& call);
  // The session has a child of its own as before.
  void note_end(const call::Call& call);
  [[nodiscard]] bool may_be_modern(const call::Call& call) const;
  void ask_shared_child(call::CallPtr call, const rpc::Envelope& refusal);
  // Sends the greeting of the session's client to a shared child, or to the session's own.
  void greet(call::CallPtr call, bool at_shared);
  void share_children();
  void move_over(session::SessionId session);
  void separate_children();
  void go_on_alone(call::CallPtr call);
  void count_asked(int change) {
    asked_ += static_cast<size_t>(change);
    pool_.keep_shared_place(asked_ > 0);
  }

  config::BackendConfig& config_;
  const pool::PoolServices& services_;
  pool::Pool& pool_;
  backend::SessionRouter& sessions_;
  call::Chain& chain_;
  McpBridge& bridge_;
  const call::Slot<call::KeptText> refusals_;  // the member `error` of the first answer to a call
  size_t asked_ = 0;                           // greetings that wait for a shared child
  std::optional<uint32_t> own_warm_;  // pool.warm before children were shared; nothing: not shared
};

}  // namespace stdgate::mcp
