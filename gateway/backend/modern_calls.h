// ModernCalls: what calls of the modern era, and calls at modern children, have of their own (see
// Era). All else of them is as with any call.
//
// Owner: the backend.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/call/chain.h"
#include "gateway/pool/pool.h"

namespace stdgate::backend {

class ModernCalls final : public call::Filter {
 public:
  // `pool` may not be constructed yet.
  ModernCalls(const pool::PoolServices& services, pool::Pool& pool, call::Chain& chain,
              session::Callers& callers)
      : services_(services),
        pool_(pool),
        chain_(chain),
        callers_(callers),
        lacking_(services.calls.reserve<call::KeptText>()),
        is_bridged_(services.config.bridges()),
        is_strict_(services.config.isolation == config::Isolation::session) {}

  void on_request(call::CallPtr& call, const call::Request& request) override {
    if (request.context.era != Era::modern) return;
    note(request, *call);
    if (call->needs_modern && pool_.era() == Era::legacy) refuse(std::move(call));
  }
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    const bool may_lack = answer.message.kind == rpc::MessageKind::error &&
                          call->client_era == Era::modern && call->child_era == Era::legacy;
    if (may_lack) refuse_lack(call, answer.message);
  }
  // The children are of the legacy era, and cannot serve it. The log tells of the first one, and
  // what to write for clients that cannot go on by the answer.
  void refuse(call::CallPtr call);
  // The result (raw JSON) of a request of a legacy client that no modern child knows; empty: it is
  // none of those, or its session has a child of its own, which its greeting has made a legacy one.
  [[nodiscard]] std::string_view own_answer(std::string_view method, const call::Call& call) const {
    const bool is_ours = call.client_era != Era::modern && pool_.era() == Era::modern &&
                         !pool_.has_lease(call.session);
    return is_ours ? services_.dialect.answer_child(method) : std::string_view();
  }
  // A notification of a legacy client of which modern children know nothing; as own_answer().
  [[nodiscard]] bool swallows(std::string_view method, const call::CallContext& context) const {
    return context.era != Era::modern && pool_.era() == Era::modern &&
           !pool_.has_lease(context.session) && services_.dialect.is_lifecycle(method);
  }
  // What has to be changed of a request for a child of the other era than its client's: a modern
  // child demands a stamp (`stamp`, which outlives the changes; empty: the dialect's), a legacy one
  // must not get the members of the modern era.
  [[nodiscard]] call::EraChanges changes_of(const rpc::Envelope& request,
                                            std::optional<Era> client_era, bool is_shared,
                                            std::string_view stamp) const;
  // A legacy child asks what no client here will be asked. If the only call there is of a modern
  // client, which has not said that it could be asked this, the call keeps what it lacks.
  void note_ask(pool::Child& child, const rpc::Envelope& ask, std::string_view method) const;
  // Gives a call that listens, and has lost its child, to another one. False: none takes it.
  bool listen_again(call::CallPtr& call) const;
  // Tells the client of a call that listens that it does, and for updates of these keys.
  void begin_listening(const call::Call& call, std::span<const std::string> keys,
                       const pool::ChildFacts& facts) const;
  // The keys that it wants to hear of, and such a child tells of.
  [[nodiscard]] std::vector<std::string> listened_keys(const call::Call& call,
                                                       const pool::ChildFacts& facts) const;
  // A notification as the client of a call that listens is to get it; nothing: it cannot.
  [[nodiscard]] std::optional<std::string> tagged(const call::Call& call,
                                                  const rpc::Envelope& notification) const;
  // At a legacy child the gateway listens for its clients: passes on a change of this list. False:
  // nobody listens for it.
  bool pass_to_listeners(pool::Child& child, const rpc::Envelope& notification, uint8_t list) const;

 private:
  void note(const call::Request& request, call::Call& call) const;
  void note_refused();
  // A legacy child has ended the call by this error, perhaps for what its client lacks. Calls that
  // have a child alone are judged by RoundTrips.
  void refuse_lack(call::CallPtr& call, const rpc::Envelope& error);
  [[nodiscard]] bool can_serve_alone() const;

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;
  session::Callers& callers_;
  const call::Slot<call::KeptText> lacking_;  // what a client would have to declare: a capability
  // Whatever later children turn out to be: whether legacy ones serve modern clients, and whether
  // no client gets one that another one has used.
  const bool is_bridged_;
  const bool is_strict_;
  bool has_told_ = false;
};

}  // namespace stdgate::backend
