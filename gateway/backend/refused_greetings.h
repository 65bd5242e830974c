// RefusedGreetings: sessions whose own child has refused to be greeted, as a child of the modern
// era does, which knows no sessions.
//
// Where the configuration allows it (`share_modern`), such a session gives its child up, and a
// shared child answers its greeting: one that is asked of which era it is, if nobody knows. If it
// is modern, the backend is from then on as one with `isolation: shared`. If it is not, the client
// gets the refusal of its own child, and its session gets another one. Other messages of the
// session are refused meanwhile: a client has to wait for the answer anyway. If a shared child
// turns out to be a legacy one later (the server was rolled back), sessions have children of their
// own again: each is parked, and its next child is told what its client has told the gateway.
// Owner: the backend.
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

namespace stdgate::backend {

class RefusedGreetings final : public call::Filter {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // Sessions have no child of their own any more.
    virtual void on_children_shared() = 0;
    // They have again, and no listeners: gives back the calls that they had at shared children.
    virtual std::vector<call::CallPtr> on_children_separated() = 0;
    // One that was greeted before, by a child of its own, goes on with shared ones.
    virtual void on_session_moved(session::SessionId session) = 0;
  };

  // `config`: that of `services`.
  RefusedGreetings(config::BackendConfig& config, const pool::PoolServices& services,
                   pool::Pool& pool, SessionRouter& sessions, call::Chain& chain,
                   pool::PoolEvents& events, Owner& owner)
      : config_(config),
        services_(services),
        pool_(pool),
        sessions_(sessions),
        chain_(chain),
        events_(events),
        owner_(owner),
        refusals_(services.calls.reserve<call::KeptText>()) {}

  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    if (is_refused(*call)) return take_second_answer(call);
    if (answer.message.kind == rpc::MessageKind::error) take_refusal(call, answer.message);
  }
  void on_fault(call::CallPtr& call, const rpc::FaultReport& /*report*/) override {
    if (is_refused(*call)) pass_refusal(call);
  }
  // Its session may be over by this: that comes after the answer.
  void on_ended(const call::Call& call) override {
    if (is_refused(call)) note_end(call);
  }
  // Children have refused a session in another process, or before a reload.
  void share_as_before() {
    if (config_.share_modern && pool_.era() == Era::modern) share_children();
  }
  // Shared children are of this era.
  void note_era(Era era) {
    if (era == Era::legacy && own_warm_ && !pool_.is_draining()) separate_children();
  }

 private:
  // By the session's own child, and a shared one has not taken it yet.
  [[nodiscard]] bool is_refused(const call::Call& call) const {
    const call::KeptText* const refusal = refusals_.find(call.slots);
    return refusal != nullptr && !refusal->text.empty();
  }
  void take_refusal(call::CallPtr& call, const rpc::Envelope& refusal);
  void take_second_answer(call::CallPtr& call);
  void pass_refusal(call::CallPtr& call);
  // Its session has a child of its own as before.
  void note_end(const call::Call& call);
  [[nodiscard]] bool may_be_modern(const call::Call& call) const;
  void ask_shared_child(call::CallPtr call, const rpc::Envelope& refusal);
  void greet(call::CallPtr call);
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
  SessionRouter& sessions_;
  call::Chain& chain_;
  pool::PoolEvents& events_;
  Owner& owner_;
  const call::Slot<call::KeptText> refusals_;  // the member error that a call has got first
  size_t asked_ = 0;                           // greetings that wait for a shared child
  std::optional<uint32_t> own_warm_;  // pool.warm before sessions shared; nothing: they do not
};

}  // namespace stdgate::backend
