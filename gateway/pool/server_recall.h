// ServerRecall: a filter that answers for a server that sleeps, with what the server has said
// before.
//
// Stands above the pool and below the rules, so that the rules apply to remembered answers too. A
// server sleeps while none of its children runs: see Pool::is_asleep(). Made by the code that
// assembles a backend, for a protocol with something to remember. Owner: the backend, which is its
// RecallOwner.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/call/chain.h"
#include "gateway/call/filter.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/pool_services.h"
#include "gateway/session/session.h"

namespace stdgate::pool {

class Pool;

// The backend, as a filter that answers for its server needs it.
class RecallOwner {
 public:
  virtual ~RecallOwner() = default;
  // The lists that the session has been told of; null: there is no such session.
  virtual session::ToldLists* told_to(session::SessionId session) = 0;
  // Calls visit(session, its told lists) for each session of a client.
  virtual void for_each_told(
      const std::function<void(session::SessionId, session::ToldLists&)>& visit) = 0;
  // A session begins with this call and this answer; its children will be told of both.
  virtual void greet(const call::Request& request, call::Call& call,
                     const rpc::Envelope& answer) = 0;
  // A session has used the server without a child.
  virtual void note_use(session::SessionId session) = 0;
  // Sends a child a request of the gateway's own, for the session or (none) for all clients.
  virtual void ask(session::SessionId session, std::string text) = 0;
  // Tells a client that these lists (bits of the dialect) may have changed: the client of the
  // session or (none) the clients of calls that listen at shared children.
  virtual void tell_changed(session::SessionId session, uint8_t lists) = 0;
  // The first child since the server slept has answered.
  virtual void on_awake() = 0;
};

struct RecallServices {
  const PoolServices& services;
  Pool& pool;
  RecallOwner& owner;
};

class ServerRecall : public call::Filter {
 public:
  // Puts itself into the chain.
  virtual void add_to(call::Chain& chain) = 0;
  // The kind that shared children have shown before; nothing: not known.
  [[nodiscard]] virtual std::optional<PeerKind> peer_kind() const = 0;
  // Whether a session may be greeted from memory now, so that it begins without a child.
  [[nodiscard]] virtual bool may_greet_sessions() const = 0;
  // Whether sessions share children, as these refuse the greeting of a session.
  [[nodiscard]] virtual bool has_no_sessions() const = 0;
  virtual void note_sessions(bool has_none) = 0;
  // Whether a change of a list can be noticed after a sleep.
  [[nodiscard]] virtual bool keeps_lists() const = 0;
  // The server goes to sleep. The session (none: each client without a session) has heard of all
  // changes so far. Of later changes it is told when the server is awake.
  virtual void note_heard(session::SessionId session) = 0;
  // A session's child has answered the greeting with these params, sent by the gateway.
  virtual void note_greeting(std::string_view params, const rpc::Envelope& answer) = 0;
  virtual void describe(BackendStatus& status) const = 0;
};

using MakeRecall = std::function<std::unique_ptr<ServerRecall>(const RecallServices&)>;

}  // namespace stdgate::pool
