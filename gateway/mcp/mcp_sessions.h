// McpSessions: the MCP sessions of one backend, by id.
//
// Job: open sessions, find them again, and take over those that other processes have opened, if
// their ids carry what is needed. Parks those that have idled for config.pool.idle_timeout; ends
// those that are over or too old. Owner: the generation. Limits: config.pool.sessions, beyond which
// one is forgotten: of the client that has most here, the one that has been idle longest, those
// first that are parked, of kMaxLook that are looked at; those of EndedIds.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/mcp/ended_ids.h"
#include "gateway/mcp/mcp_session.h"
#include "gateway/session/session_ids.h"

namespace stdgate::mcp {

class McpSessions final : private McpSessionOwner {
 public:
  static constexpr size_t kMaxLook = 64;
  // From one look at all of them for those that have idled to the next.
  static constexpr Duration kRest = std::chrono::milliseconds(250);

  McpSessions(const McpSessionServices& services, Duration idle_timeout, session::SessionIds& ids);
  ~McpSessions() override;
  McpSessions(const McpSessions&) = delete;
  McpSessions& operator=(const McpSessions&) = delete;

  // Those of the same backend before it was replaced: they are found here too, until the
  // predecessor ends. It may have one itself.
  void succeed(McpSessions& predecessor);

  [[nodiscard]] backend::Upstream& backend() const { return services_.backend; }
  [[nodiscard]] const Clock& clock() const { return services_.clock; }

  // `initialize`: the params with which the client begins, for an id that carries them.
  tl::expected<McpSession*, rpc::FaultReport> open(McpSession::Kind kind,
                                                   const policy::Client& client = {},
                                                   std::string_view initialize = {});
  // The session with this id, which may be one of another process. Null: never opened, ended, of
  // the other kind, or another principal's. The fault: there is no room for it at the moment.
  // `revision`: that the client says it speaks, to be believed of a session of another process;
  // nothing: it does not say.
  tl::expected<McpSession*, rpc::FaultReport> reach(std::string_view id, McpSession::Kind kind,
                                                    const policy::Client& client,
                                                    std::optional<McpRevision> revision);
  // As reach(), among those that are known.
  [[nodiscard]] McpSession* find(std::string_view id, McpSession::Kind kind,
                                 const policy::Principal* principal) const;
  // Whether that is the id of a session here or before; of whom is not asked.
  [[nodiscard]] bool has(std::string_view id) const {
    return sessions_.contains(id) || (predecessor_ != nullptr && predecessor_->has(id));
  }
  // Whether the session with this id is over, though it may not have been closed yet.
  [[nodiscard]] bool has_ended(std::string_view id) const;
  // A response's client has gone, or has taken what was unsent. Without effect if the session is
  // over.
  void detach(std::string_view id, session::EventSink& sink) const;
  void on_sink_writable(std::string_view id) const;
  // The session is over, for its client too. Not from inside of a call of the core or of the
  // session.
  void close(McpSession& session);

  // What is kept of sessions that are idle, in whose place nobody waits: those first that are
  // parked, and of these that have been idle for longest. Of one client, or of all (null), until
  // `is_enough()`. Gives the number of sessions. Not from inside of a call of the core.
  //   Their events, for clients that come back:
  size_t drop_replay(const Account* client, const std::function<bool()>& is_enough);
  //   Themselves; if its id carries enough, a session can be taken over again:
  size_t forget_idle(const Account* client, const std::function<bool()>& is_enough);

  // Shutdown: streams that only listen are ended.
  void drain();
  void close_all();
  [[nodiscard]] size_t size() const { return sessions_.size(); }
  void check_invariants() const;  // see McpSession

 private:
  // A session that still has a child is forgotten only when it has been idle for so long.
  static constexpr Duration kLongIdle = std::chrono::minutes(1);

  // Of an id's end, which no two ids that were given out share: the whole of one is long.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view id) const {
      return std::hash<std::string_view>()(id.substr(id.size() - std::min(id.size(), kHashed)));
    }
    static constexpr size_t kHashed = 16;
  };

  // Whether the id is that of a session here, or of one that has ended here.
  [[nodiscard]] bool knows(std::string_view id);
  void on_session_over(McpSession& session) override;
  void close_those_over();
  void settle_idle();
  // Forgets the session; if its id carries enough, it can be taken over again.
  void forget(McpSession& session);
  void make_room();
  [[nodiscard]] std::vector<McpSession*> idle_sessions(const Account* client) const;
  McpSession& keep(std::unique_ptr<McpSession> session);

  const McpSessionServices services_;
  const Duration idle_timeout_;
  session::SessionIds& ids_;
  EndedIds ended_;
  std::unordered_map<std::string, std::unique_ptr<McpSession>, Hash, std::equal_to<>> sessions_;
  std::unordered_map<const Account*, size_t> counts_;  // of sessions, by whose they are
  std::vector<std::string> over_;       // ids of sessions that are over, and are closed soon
  size_t next_bucket_ = 0;              // of sessions_, that is looked at first for one that can go
  McpSessions* predecessor_ = nullptr;  // null: there is none
  McpSessions* successor_ = nullptr;    // that has this one as its predecessor; null: none
  Timer over_timer_;
  Timer idle_timer_;
};

}  // namespace stdgate::mcp
