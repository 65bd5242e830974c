// SleepingServer: the filter that answers while no child runs, and what it needs from its backend.
//
// Owner: the backend, if its server's answers are remembered.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/backend/bridge.h"
#include "gateway/backend/list_notices.h"
#include "gateway/backend/session_memos.h"
#include "gateway/backend/session_router.h"
#include "gateway/backend/upstream.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/server_recall.h"

namespace stdgate::backend {

class SleepingServer final : private pool::RecallOwner {
 public:
  // Parts of the backend; they outlive this.
  struct Parts {
    const pool::PoolServices& services;
    Upstream& backend;
    pool::Pool& pool;
    SessionRouter& sessions;
    SessionMemos& memos;
    ListNotices& notices;
    Bridge& bridge;
    ListWatches& watches;
  };

  SleepingServer(const Parts& parts, const pool::MakeRecall& make);

  [[nodiscard]] pool::ServerRecall& recall() { return *recall_; }
  [[nodiscard]] const pool::ServerRecall& recall() const { return *recall_; }
  // The client of a session has completed its greeting. False: the session's child has to hear of
  // it.
  bool complete_greeting(session::SessionId session);
  // See pool::ChildListener.
  bool let_sleep(const pool::Child& child);

 private:
  session::ToldLists* told_to(session::SessionId session) override;
  void for_each_told(
      const std::function<void(session::SessionId, session::ToldLists&)>& visit) override;
  void greet(const call::Request& request, call::Call& call, const rpc::Envelope& answer) override;
  void note_use(session::SessionId session) override { parts_.sessions.touch(session); }
  void ask(session::SessionId session, std::string text) override;
  void tell_changed(session::SessionId session, uint8_t lists) override;
  void on_awake() override;

  const Parts parts_;
  const std::unique_ptr<pool::ServerRecall> recall_;
};

}  // namespace stdgate::backend
