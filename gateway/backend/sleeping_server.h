// SleepingServer: a filter that answers for a server that sleeps, with what the server has said
// before. The protocol derives its own from this class, which connects it to the backend.
//
// Stands above the pool and below the rules, so that the rules apply to remembered answers too. A
// server sleeps while none of its children runs: see Pool::is_asleep(). Made by the code that
// assembles a backend, for a protocol with something to remember. Owner: the backend.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/backend/session_delivery.h"
#include "gateway/backend/session_memos.h"
#include "gateway/backend/session_router.h"
#include "gateway/backend/upstream.h"
#include "gateway/call/chain.h"
#include "gateway/call/filter.h"
#include "gateway/pool/backend_status.h"
#include "gateway/pool/bridge.h"
#include "gateway/pool/pool.h"
#include "gateway/session/session.h"

namespace stdgate::backend {

class SleepingServer : public call::Filter {
 public:
  // Parts of the backend; they outlive this.
  struct Parts {
    const pool::PoolServices& services;
    Upstream& backend;
    pool::Pool& pool;
    SessionRouter& sessions;
    SessionMemos& memos;
    ListNotices& notices;
    pool::Bridge& bridge;
    ListWatches& watches;
  };

  // Puts itself into the chain.
  virtual void add_to(call::Chain& chain) = 0;
  // The kind that shared children have shown before; nothing: not known.
  [[nodiscard]] virtual std::optional<PeerKind> peer_kind() const = 0;
  // Whether a session may be greeted from memory now, so that it begins without a child.
  [[nodiscard]] virtual bool may_greet_sessions() const = 0;
  // Whether sessions share children, as these refuse the greeting of a session.
  [[nodiscard]] virtual bool has_no_sessions() const = 0;
  virtual void note_sessions(bool has_none) = 0;
  // A session's child has answered the greeting with these params, sent by the gateway.
  virtual void note_greeting(std::string_view params, const rpc::Envelope& answer) = 0;
  virtual void describe(pool::BackendStatus& status) const = 0;

  // The client of a session has completed its greeting. False: the session's child has to hear of
  // it.
  bool complete_greeting(session::SessionId session);
  // See pool::ChildListener.
  bool let_sleep(const pool::Child& child);

 protected:
  explicit SleepingServer(const Parts& parts) : parts_(parts) {}

  // Whether a change of a list can be noticed after a sleep.
  [[nodiscard]] virtual bool keeps_lists() const = 0;
  // The server goes to sleep. The session (none: each client without a session) has heard of all
  // changes so far. Of later changes it is told when the server is awake.
  virtual void note_heard(session::SessionId session) = 0;

  [[nodiscard]] const pool::PoolServices& services() const { return parts_.services; }
  [[nodiscard]] pool::Pool& pool() const { return parts_.pool; }
  // The lists that the session has been told of; null: there is no such session.
  [[nodiscard]] session::ToldLists* told_to(session::SessionId session) const;
  // Calls visit(session, its told lists) for each session of a client.
  void for_each_told(
      const std::function<void(session::SessionId, session::ToldLists&)>& visit) const;
  // A session begins with this call and this answer; its children will be told of both.
  void greet(const call::Request& request, call::Call& call, const rpc::Envelope& answer) const;
  // A session has used the server without a child.
  void note_use(session::SessionId session) const { parts_.sessions.touch(session); }
  // Sends a child a request of the gateway's own, for the session or (none) for all clients. Its
  // call has this tag.
  static constexpr session::Tag kQuestion = 1;
  void ask(session::SessionId session, std::string text) const;
  // Tells a client that these lists (bits of the dialect) may have changed: the client of the
  // session or (none) the clients of calls that listen at shared children.
  void tell_changed(session::SessionId session, uint8_t lists) const;
  // The first child since the server slept has answered.
  void go_on() const;

 private:
  const Parts parts_;
};

using MakeSleepingServer =
    std::function<std::unique_ptr<SleepingServer>(const SleepingServer::Parts&)>;

}  // namespace stdgate::backend
