// ModernCalls: treatment of modern calls, and of calls at modern children (see PeerKind).
// KeyWatches: calls that listen for updates at legacy children.
//
// Owner: the bridge.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/backend/session_router.h"
#include "gateway/call/chain.h"
#include "gateway/pool/pool.h"
#include "gateway/session/sinks.h"

namespace stdgate::mcp {

class McpDialect;

class ModernCalls final : public call::Filter {
 public:
  // `pool` may not be constructed yet.
  ModernCalls(const pool::PoolServices& services, const McpDialect& dialect, pool::Pool& pool,
              session::Callers& callers)
      : services_(services),
        dialect_(dialect),
        pool_(pool),
        chain_(services.chain),
        callers_(callers),
        lacking_(services.calls.reserve<call::KeptText>()),
        lists_(services.calls.reserve<uint8_t>()),
        is_bridged_(services.config.bridges()),
        is_bridged_in_servers_(services.config.bridge != config::Bridge::off),
        is_strict_(services.config.isolation == config::Isolation::session) {}

  void on_request(call::CallPtr& call, const call::Request& request) override {
    if (request.context.peer_kind != PeerKind::stateless) return;
    note(request, *call);
    if (call->needs_stateless && pool_.peer_kind() == PeerKind::stateful) refuse(std::move(call));
  }
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    if (answer.message.kind == rpc::MessageKind::error) refuse_lack(call, answer.message);
  }
  // Refuses a call that the children cannot serve, because they are legacy ones. The log reports
  // the first such call, and the key to change for clients that cannot use the answer.
  void refuse(call::CallPtr call);
  // The result (raw JSON) of a legacy client's request that modern children do not know. Empty: it
  // is another request, or the session has a child of its own, which is a legacy one.
  [[nodiscard]] std::string_view own_answer(std::string_view method, const call::Call& call) const;
  // Whether modern children do not know this notification of a legacy client; like own_answer().
  [[nodiscard]] bool swallows(std::string_view method, const call::CallContext& context) const {
    return context.peer_kind != PeerKind::stateless && pool_.peer_kind() == PeerKind::stateless &&
           !pool_.lane().has(context.session) && services_.dialect.is_lifecycle(method);
  }
  // The changes of a request for a shared child of the other era than its client's. A modern child
  // demands a stamp (`stamp` outlives the changes; empty: the gateway's). A legacy child must not
  // get the members of the modern era. `known`: the params of the request; null: they are read.
  [[nodiscard]] call::PeerChanges changes_of(const rpc::Envelope& request,
                                             std::optional<PeerKind> client_kind,
                                             std::string_view stamp,
                                             const call::KnownParams* known = nullptr) const;
  // A legacy child asks something that no client here will be asked. If its only call is a modern
  // client's, and that client has not declared that it can be asked, the call keeps the missing
  // capability.
  void note_ask(pool::Child& child, const rpc::Envelope& ask, std::string_view method) const;
  // Gives a call that listens, and has lost its child, to another child. False: no child takes it.
  bool listen_again(call::CallPtr& call) const;
  // Tells the client of a call that it listens now, and for updates of these keys.
  void begin_listening(const call::Call& call, std::span<const std::string> keys,
                       const pool::ChildFacts& facts) const;
  // Ends a call that listens with its result, which names the call by its id.
  void end_listening(const call::Call& call) const;
  // The keys that the call listens for and such a child reports.
  [[nodiscard]] std::vector<std::string> listened_keys(const call::Call& call,
                                                       const pool::ChildFacts& facts) const;
  // A notification in the form for the client of a call that listens; nothing: it has no such form.
  [[nodiscard]] std::optional<std::string> tagged(const call::Call& call,
                                                  const rpc::Envelope& notification) const;
  // Passes a change of this list from a legacy child, where the gateway listens for its clients.
  // False: no call listens for the list.
  bool pass_to_listeners(pool::Child& child, const rpc::Envelope& notification, uint8_t list) const;

 private:
  void note(const call::Request& request, call::Call& call) const;
  void note_refused();
  // Refuses a modern client's call that a legacy child has ended with this error because of a
  // capability that the client lacks. RoundTrips judges calls with a child alone.
  void refuse_lack(call::CallPtr& call, const rpc::Envelope& error);
  [[nodiscard]] bool can_serve_alone() const;
  [[nodiscard]] uint8_t lists_of(const call::Call& call) const {
    const uint8_t* const lists = lists_.find(call.slots);
    return lists == nullptr ? 0 : *lists;
  }

  const pool::PoolServices& services_;
  const McpDialect& dialect_;
  pool::Pool& pool_;
  call::Chain& chain_;
  session::Callers& callers_;
  const call::Slot<call::KeptText> lacking_;  // a capability that a client would have to declare
  const call::Slot<uint8_t> lists_;  // whose changes the call asks for: bits of the dialect
  // Fixed, even if later children are of another era. is_bridged_: legacy children serve modern
  // clients. is_bridged_in_servers_: the same for clients of a virtual server, which cannot open a
  // session here instead. is_strict_: no client gets a child that another client has used.
  const bool is_bridged_;
  const bool is_bridged_in_servers_;
  const bool is_strict_;
  bool has_told_ = false;
};

// KeyWatches: at legacy children, the gateway subscribes for calls of modern clients that listen
// for updates (subscriptions/listen, MCP 2026-07-28).
//
// Each such call has a session without a client of its own. So its keys are counted together with
// the keys of sessions: see Subscriptions. Owner: the bridge. Limits: the limits of sessions and
// of Subscriptions; keys beyond them are not promised.
class KeyWatches {
 public:
  KeyWatches(const pool::PoolServices& services, const ModernCalls& modern,
             backend::SessionRouter& sessions, session::Callers& callers);
  ~KeyWatches();
  KeyWatches(const KeyWatches&) = delete;
  KeyWatches& operator=(const KeyWatches&) = delete;

  // The call's client hears of updates of these keys from now on. Keys that cannot be watched are
  // removed from `keys`.
  void open(const call::Call& call, std::vector<std::string>& keys);
  // The call is over. Without effect for a call without a watch.
  void close(const call::Call& call);
  // Ends the process if an invariant is broken.
  void check_invariants() const;

 private:
  class Watch;

  void end(session::SessionId session);

  const pool::PoolServices& services_;
  const ModernCalls& modern_;
  backend::SessionRouter& sessions_;
  session::Callers& callers_;
  std::map<const call::Call*, std::unique_ptr<Watch>> watches_;  // a call does not move
};

}  // namespace stdgate::mcp
