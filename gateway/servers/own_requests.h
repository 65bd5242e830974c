// OwnRequests: what a virtual server answers itself: lists, greetings, searches, log levels.
//
// Job: have each list that an answer needs asked for, and answer as soon as it is there. Owner: the
// aggregate, which keeps a call until then. Limits: see ServerAnswers.
#pragma once

#include <cstdint>

#include "gateway/call/chain.h"
#include "gateway/pool/dialect.h"
#include "gateway/servers/list_changes.h"
#include "gateway/servers/server_answers.h"
#include "gateway/servers/virtual_sessions.h"

namespace stdgate::servers {

class OwnRequests {
 public:
  struct Services {
    const config::ServerConfig& config;
    call::Chain& chain;
    const pool::Dialect& dialect;
    Members& members;
    ServerAnswers& answers;
    VirtualSessions& sessions;
    ListChanges& changes;
  };
  enum class Taking : uint8_t {
    answered,
    open,       // lists have been asked for, and are waited for
    of_member,  // it is none of these requests
  };

  explicit OwnRequests(const Services& services) : services_(services) {}

  Taking take(call::CallPtr& call, const call::Request& request);

 private:
  // False: lists are waited for.
  bool list(call::CallPtr& call, const call::Request& request, ListKind kind);
  bool discover(call::CallPtr& call, const call::Request& request);
  Taking call_tool(call::CallPtr& call, const call::Request& request);
  bool find_tool(call::CallPtr& call, const call::Request& request);
  void greet(const call::Call& call, const call::Request& request);
  void set_level(const call::Call& call, const call::Request& request);
  void refuse_era(const call::Call& call);

  const Services services_;
};

}  // namespace stdgate::servers
