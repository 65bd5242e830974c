// Bridge: a protocol's part of a backend. Adds the protocol's filters to the chain. Connects
// stateful clients to stateless children, and stateless clients to stateful children (see
// PeerKind).
//
// A protocol with one kind of peers and without filters uses this class, which does nothing. Other
// protocols make their own bridge (Dialect::make_bridge). The bridge hears of what the pool cannot
// give to a child, asks clients of one kind what children of the other want to know, and listens at
// children for clients. Owner: the backend.
#pragma once

#include <cstdint>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/call/call_store.h"
#include "gateway/call/chain.h"
#include "gateway/observer.h"
#include "gateway/pool/child_facts.h"
#include "gateway/pool/pool_events.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/fault.h"
#include "gateway/session/session.h"

namespace stdgate::pool {

class Child;

class Bridge {
 public:
  Bridge() = default;
  virtual ~Bridge() = default;
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  // --- The chain
  // The places of the protocol's filters, in the order of requests.
  enum class Place : uint8_t {
    above_rules,
    below_rules,     // answers in the place of a child pass these filters too
    above_children,  // above the filters that only concern children
    inner,
    below_answers,  // below the filters that learn from answers
    at_pool,
  };
  // Adds the filters of this place.
  virtual void add_filters(Place /*place*/) {}
  // The changes of a request whose child is not of its client's kind.
  [[nodiscard]] virtual call::PeerChanges changes_of(const rpc::Envelope& /*request*/,
                                                     const call::CallContext& /*context*/) const {
    return {};
  }
  // Takes a call that no child of the pool can serve (Call::alone). False: a child can.
  virtual bool take(call::CallPtr& /*call*/, const call::Outgoing& /*message*/) { return false; }
  // Whether the children do not know this notification of a client.
  [[nodiscard]] virtual bool swallows(std::string_view /*method*/,
                                      const call::CallContext& /*context*/) const {
    return false;
  }

  // --- What the pool finds out
  // A shared child has shown this kind, which is news. The child gets its first call afterwards.
  virtual void on_peer_kind(PeerKind /*peer_kind*/) {}
  // The children are stateful ones, and cannot serve this stateless call.
  virtual void on_wrong_peer_kind(call::CallPtr /*call*/) {}
  // The children are stateful ones, so this call (Call::alone) needs a child of its own.
  virtual void on_call_alone(call::CallPtr /*call*/, const call::Outgoing& /*message*/) {}
  // A call listens at a child that is not told about it.
  virtual void on_listening(const call::Call& /*call*/, const ChildFacts& /*facts*/) {}
  // The child has ended what the call listens to.
  virtual void on_listening_end(call::CallPtr /*call*/) {}
  // The child of a call that listens has gone for this reason. Another child may take its place.
  virtual void on_listener_lost(call::CallPtr /*call*/, const rpc::FaultReport& /*report*/) {}

  // --- Calls that wait for their clients
  // Clients are asked nothing more.
  virtual void drain() {}
  // Calls that the chain keeps while their clients are asked.
  [[nodiscard]] virtual size_t asking() const { return 0; }
  // Calls at children whose clients have been answered and may come back.
  [[nodiscard]] virtual size_t parked() const { return 0; }

  // --- Questions of children
  // Whether a client that has greeted so may be asked this.
  [[nodiscard]] virtual bool may_be_asked(std::string_view /*greeting*/,
                                          const rpc::Envelope& /*ask*/,
                                          std::string_view /*method*/) const {
    return true;
  }
  // A child asks something that no client here will be asked.
  virtual void note_ask(Child& /*child*/, const rpc::Envelope& /*ask*/,
                        std::string_view /*method*/) const {}
  // The session's client has greeted, or has set the level of its log messages.
  virtual void note_greeting(session::Session& /*session*/, std::string_view /*greeting*/) const {}
  virtual void note_severity(session::Session& /*session*/) const {}
  // The client's answer to a question that no child waits for. `round`: see session::Ask. `key`:
  // the key of the question. Null: it will not be answered.
  virtual void on_round_answer(uint64_t /*round*/, std::string_view /*key*/,
                               const rpc::Envelope* /*answer*/) {}
  // See ChildListener.
  [[nodiscard]] virtual TimePoint needed_until(uint64_t /*child*/) const {
    return ChildListener::kNotNeeded;
  }
  // Children have refused sessions before a restart or a reload.
  virtual void share_as_before() {}

  // --- Listening
  // Ends a call of a client that listens, with its result.
  virtual void end_listening(const call::Call& /*call*/) {}
  // Passes on a change of this list to calls that listen at a child. False: none does.
  virtual bool pass_to_listeners(Child& /*child*/, const rpc::Envelope& /*notification*/,
                                 uint8_t /*list*/) const {
    return false;
  }
  // A child has greeted the session's client with this answer.
  virtual void begin_listening(session::SessionId /*session*/, const rpc::Envelope& /*answer*/) {}
  // The session continues at shared children; its former child may have promised changes.
  virtual void go_on(session::SessionId /*session*/) {}
  // The server is awake again.
  virtual void go_on_all() {}
  // See ChildListener::let_sleep(). `calls`: number of calls that listen. Returns the sessions
  // whose calls were ended; none: another call listens.
  virtual std::vector<session::SessionId> fall_asleep(size_t /*calls*/) { return {}; }
  // Subscriptions of sessions whose children know no sessions. wants(): the bridge listens for the
  // key.
  [[nodiscard]] virtual bool wants(session::SessionId /*session*/, std::string_view /*key*/) const {
    return false;
  }
  virtual tl::expected<void, rpc::FaultReport> subscribe(session::SessionId /*session*/,
                                                         std::string_view /*key*/) {
    return {};
  }
  // False: the bridge does not listen for the key.
  virtual bool unsubscribe(session::SessionId /*session*/, std::string_view /*key*/) {
    return false;
  }

  // Ends the process if an invariant is broken.
  virtual void check_invariants() const {}
};

}  // namespace stdgate::pool
