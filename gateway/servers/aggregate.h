// Aggregate: the end of a virtual server's chain: answers a request from what is known of the
// members, or finds the member whose it is.
//
// Job: have a request wait until the lists that it needs are there, or late; answer it, or have
// MemberCalls hand it over; tell clients of changes. The aggregate is a client of the members'
// upstreams, and knows nothing of their children. Owner: the virtual server. Limits:
// MemberConfig::wait for a call that waits for lists, and the limits of HeldCalls for all of them;
// the limits of its parts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/call/chain.h"
#include "gateway/call/trace_filter.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool_services.h"
#include "gateway/servers/list_changes.h"
#include "gateway/servers/listening.h"
#include "gateway/servers/member_calls.h"
#include "gateway/servers/members.h"
#include "gateway/servers/own_requests.h"
#include "gateway/servers/routes.h"
#include "gateway/servers/server_answers.h"
#include "gateway/servers/virtual_sessions.h"

namespace stdgate::servers {

struct AggregateServices {
  const config::ServerConfig& config;
  const std::string& version;  // of the gateway
  const pool::CoreServices& core;
  session::Callers& callers;
  const pool::Dialect& dialect;
  call::Chain& chain;
  call::CallStore& calls;
  call::TraceFilter& traces;
  BackendId id;
  Payer payer;
  size_t max_sessions;
};

class Aggregate final : public call::Filter {
 public:
  explicit Aggregate(const AggregateServices& services);

  void on_begin(call::Call& call, const call::Arrival& arrival) override;
  void on_request(call::CallPtr& call, const call::Request& request) override {
    take(std::move(call), request);
  }
  // The lists that the call waits for have come, or are late.
  void on_released(call::CallPtr call, const call::Request& request) override {
    take(std::move(call), request);
  }
  void on_end(const call::Call& call, call::End& end) override;

  // The configuration has other members now; these have to be attached.
  void take_members();
  // Which upstreams the members are today.
  void attach(const backend::Upstreams& upstreams, const config::Config& config);
  VirtualSessions& sessions() { return sessions_; }
  [[nodiscard]] const VirtualSessions& sessions() const { return sessions_; }
  [[nodiscard]] size_t calls() const { return services_.chain.held() + under_way_.size(); }
  [[nodiscard]] size_t own_callers() const;
  [[nodiscard]] std::vector<std::string> member_names() const;

  // Cancels a client's call. False: no such call.
  bool cancel(session::Caller caller, std::string_view id);
  // Calls that fit end. `report`: what their clients are told; null: nothing.
  void end_calls(const std::function<bool(const call::Call&)>& fits, std::string_view detail,
                 const rpc::FaultReport* report);
  void end_listening();
  void drain();
  // The server's own.
  void set_rules(const config::BackendConfig& server,
                 const std::vector<config::RoleConfig>& roles) {
    answers_.set_rules(server, roles);
  }
  // Clients may see other lists.
  void note_changed() { changes_.gather(nullptr, {}, kAllLists); }
  // Clients have come, or gone.
  void note_clients() { changes_.note_clients(); }
  void describe(pool::BackendStatus& status) const;

  // --- Called by members
  // An answer that the member was asked for has come or failed, for this view. `news`: the lists
  // (bits of mcp::kMcpLists) that differ from the lists which clients of the view have seen.
  void on_lists(Member& member, MemberView& view, uint8_t news);
  // The member has reported that lists have changed: the lists of this principal (see
  // policy::identity_of()) or, if `identity` is empty, of all.
  void on_lists_changed(Member& member, std::string_view identity, uint8_t lists);

  // Ends the process if an invariant is broken: a call whose client and session have gone, a client
  // that is counted and not there.
  void check_invariants() const;

 private:
  void take(call::CallPtr call, const call::Request& request);
  void listen(call::CallPtr call, const call::Request& request);
  bool lacks_room(const call::Request& request, const Route& route);
  // The call waits for lists.
  void hold(call::CallPtr call, const call::Request& request);

  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const AggregateServices services_;
  const std::string stamp_;
  const std::string greeting_;
  Presence clients_;
  const MemberServices member_services_;
  Members members_;
  ServerAnswers answers_;
  TaskNames tasks_;
  Routes routes_;
  MemberCalls under_way_;
  Listening listening_;
  ListeningEnds ends_;
  VirtualSessions sessions_;
  uint64_t last_listener_ = 0;
  bool is_draining_ = false;
  ListChanges changes_;
  NameClashes clashes_;
  OwnRequests own_;
  Timer review_timer_;    // of calls that wait: lists have come
  Timer presence_timer_;  // clients have stopped listening
};

}  // namespace stdgate::servers
