// McpBridge: MCP's part of a backend, see pool::Bridge: its filters, and clients and children of
// its two eras.
//
//   filters of every backend       McpFilters
//   modern client, legacy child    RoundTrips, KeyWatches; ModernCalls tells changes of lists
//   session, modern child          InputRounds, SessionListening, RefusedGreetings
//
// Owner: the backend.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/bridge_parts.h"
#include "gateway/call/chain.h"
#include "gateway/mcp/bridge/input_rounds.h"
#include "gateway/mcp/bridge/modern_calls.h"
#include "gateway/mcp/bridge/refused_greetings.h"
#include "gateway/mcp/bridge/round_trips.h"
#include "gateway/mcp/bridge/session_listening.h"
#include "gateway/mcp/mcp_filters.h"

namespace stdgate::mcp {

// BridgeFilter: the filter next to the pool that connects peers of different kinds (PeerKind).
//
// The filter shows each request, answer, fault and end to the parts of the bridge, which may take
// the call: RoundTrips and InputRounds, which convert questions of children for clients of the
// other era, and KeyWatches. Owner: the bridge.
class BridgeFilter final : public call::Filter {
 public:
  // They outlive the filter.
  struct Parts {
    const pool::Pool& pool;
    call::Chain& chain;
    ModernCalls& modern;
    RoundTrips& trips;
    InputRounds& rounds;
    KeyWatches& watches;
  };

  explicit BridgeFilter(const Parts& parts) : parts_(parts) {}

  void on_request(call::CallPtr& call, const call::Request& request) override;
  void on_answer(call::CallPtr& call, call::Answer& answer) override;
  void on_fault(call::CallPtr& call, const rpc::FaultReport& report) override {
    // A call that stands in for a parked one ends here, and is left over.
    if (call->alone && parts_.trips.take_fault(call, report)) call = nullptr;
  }
  void on_lost(call::CallPtr& call, std::string_view text, const rpc::FaultReport& report) override;
  void on_overdue(call::CallPtr call) override { parts_.rounds.expire(std::move(call)); }
  void on_end(const call::Call& call, call::End& end) override;

 private:
  const Parts parts_;
};

class McpDialect;

class McpBridge final : public pool::Bridge {
 public:
  // `dialect` outlives it.
  McpBridge(const backend::BridgeParts& parts, const McpDialect& dialect);

  void add_filters(Place place) override;
  [[nodiscard]] call::PeerChanges changes_of(const rpc::Envelope& request,
                                             const call::CallContext& context) const override;
  bool take(call::CallPtr& call, const call::Outgoing& message) override;
  [[nodiscard]] bool swallows(std::string_view method,
                              const call::CallContext& context) const override {
    return modern_.swallows(method, context);
  }

  void drain() override {
    trips_.drain();
    rounds_.drain();
  }
  [[nodiscard]] size_t asking() const override { return rounds_.size(); }
  [[nodiscard]] size_t parked() const override { return trips_.parked(); }

  [[nodiscard]] bool may_be_asked(std::string_view greeting, const rpc::Envelope& ask,
                                  std::string_view method) const override {
    return kInput.judge(ask, method, greeting).verdict == InputRuling::Verdict::allowed;
  }
  void note_ask(pool::Child& child, const rpc::Envelope& ask,
                std::string_view method) const override {
    modern_.note_ask(child, ask, method);
  }
  void note_greeting(session::Session& session, std::string_view greeting) const override;
  void note_severity(session::Session& session) const override;
  void on_round_answer(uint64_t round, std::string_view key, const rpc::Envelope* answer) override {
    rounds_.on_round_answer(round, key, answer);
  }
  [[nodiscard]] TimePoint needed_until(uint64_t child) const override {
    return rounds_.needed_until(child);
  }
  void share_as_before() override { greetings_.share_as_before(); }

  void end_listening(const call::Call& call) override { modern_.end_listening(call); }
  bool pass_to_listeners(pool::Child& child, const rpc::Envelope& notification,
                         uint8_t list) const override {
    return modern_.pass_to_listeners(child, notification, list);
  }
  void begin_listening(session::SessionId session, const rpc::Envelope& answer) override {
    listening_.begin(session, answer);
  }
  void go_on(session::SessionId session) override { listening_.go_on(session); }
  void go_on_all() override { listening_.go_on_all(); }
  std::vector<session::SessionId> fall_asleep(size_t calls) override {
    return listening_.fall_asleep(calls);
  }
  [[nodiscard]] bool wants(session::SessionId session, std::string_view key) const override {
    return listening_.wants(session, key);
  }
  tl::expected<void, rpc::FaultReport> subscribe(session::SessionId session,
                                                 std::string_view key) override {
    return listening_.subscribe(session, key);
  }
  bool unsubscribe(session::SessionId session, std::string_view key) override {
    return listening_.unsubscribe(session, key);
  }
  void check_invariants() const override { watches_.check_invariants(); }

  // The pool's events
  void on_peer_kind(PeerKind peer_kind) override { greetings_.note_era(peer_kind); }
  void on_wrong_peer_kind(call::CallPtr call) override { modern_.refuse(std::move(call)); }
  void on_call_alone(call::CallPtr call, const call::Outgoing& message) override;
  void on_listening(const call::Call& call, const pool::ChildFacts& facts) override;
  void on_listening_end(call::CallPtr call) override { modern_.end_listening(*call); }
  void on_listener_lost(call::CallPtr call, const rpc::FaultReport& report) override;

  // --- Called by RefusedGreetings
  // Sessions have no children of their own any more.
  void on_children_shared() { parts_.note_sharing(true); }
  // Sessions have children of their own again, and no listeners. Returns the sessions' calls at
  // shared children.
  std::vector<call::CallPtr> on_children_separated();

 private:
  const backend::BridgeParts parts_;
  McpFilters filters_;
  ModernCalls modern_;
  SessionListening listening_;
  RoundTrips trips_;
  InputRounds rounds_;
  RefusedGreetings greetings_;
  KeyWatches watches_;
  BridgeFilter at_pool_;
};

}  // namespace stdgate::mcp
