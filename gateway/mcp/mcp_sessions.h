// McpSessions: the MCP sessions of one backend, by id.
//
// Job: open sessions, find them again, and take over sessions of other processes, if their ids
// carry what is needed. Parks sessions that have been idle for config.pool.idle_timeout; ends
// sessions that are over or too old. Owner: the generation. Limits: config.pool.sessions, beyond
// which a session of the client with most sessions is forgotten: a parked one, else the one that
// has been idle longest, out of kMaxLook sessions. Also the limits of EndedIds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/mcp/mcp_session.h"
#include "gateway/session/sealed_texts.h"

namespace stdgate::mcp {

// EndedIds: the ids of sessions that have ended before they expired. Such a session must not be
// taken over again.
//
// Owner: McpSessions. Limit: kMaxIds; beyond it the id that ended first is forgotten.
class EndedIds {
 public:
  static constexpr size_t kMaxIds = 65536;

  // `expiry`: when the id expires in any case.
  void add(std::string_view id, TimePoint now, TimePoint expiry);
  [[nodiscard]] bool contains(std::string_view id, TimePoint now);
  void add_all(const EndedIds& others, TimePoint now);
  [[nodiscard]] size_t size() const { return entries_.size(); }

 private:
  // Holds a hash in place of the id, which may be long. Two equal hashes are too unlikely to
  // matter.
  struct Entry {
    size_t hash = 0;
    TimePoint expiry{};
  };

  void add(const Entry& entry, TimePoint now);
  void drop_expired(TimePoint now);
  void drop_first();

  std::deque<Entry> entries_;  // in the order of their sessions' ends
  std::unordered_multiset<size_t> hashes_;
};

class McpSessions final : public session::EventSources {
 public:
  static constexpr size_t kMaxLook = 64;
  // The least time between two passes over all sessions that look for idle ones.
  static constexpr Duration kRest = std::chrono::milliseconds(250);

  McpSessions(const McpSessionServices& services, Duration idle_timeout, session::SessionIds& ids);
  ~McpSessions() override;
  McpSessions(const McpSessions&) = delete;
  McpSessions& operator=(const McpSessions&) = delete;

  // Makes the sessions of a replaced backend reachable here, until `predecessor` ends. The
  // predecessor may have a predecessor itself.
  void succeed(McpSessions& predecessor);

  [[nodiscard]] backend::Upstream& backend() const { return services_.backend; }
  [[nodiscard]] const Clock& clock() const { return services_.clock; }

  // `initialize`: the params of the client's first request, for an id that carries them.
  tl::expected<McpSession*, rpc::FaultReport> open(McpSession::Kind kind,
                                                   const policy::Client& client = {},
                                                   std::string_view initialize = {});
  // The session with this id, which may come from another process. Null: it was never opened, has
  // ended, is of the other kind, or belongs to another principal. A fault: there is no room for it
  // at the moment. `revision`: the one that the client names, if any; it counts for a session of
  // another process.
  tl::expected<McpSession*, rpc::FaultReport> reach(std::string_view id, McpSession::Kind kind,
                                                    const policy::Client& client,
                                                    std::optional<McpRevision> revision);
  // Like reach(), but only for sessions that are known here.
  [[nodiscard]] McpSession* find(std::string_view id, McpSession::Kind kind,
                                 const policy::Principal* principal) const;
  // Whether this is the id of a session here or at a predecessor, of any principal.
  [[nodiscard]] bool has(std::string_view id) const {
    return sessions_.contains(id) || (predecessor_ != nullptr && predecessor_->has(id));
  }
  // EventSources
  [[nodiscard]] bool has_ended(std::string_view id) const override;
  void detach(std::string_view id, session::EventSink& sink) const override;
  void on_sink_writable(std::string_view id) const override;
  // The session is over. Called from inside the session, so it is closed later.
  void on_session_over(McpSession& session);
  // Ends the session, for its client too. Must not be called from within the core or the session.
  void close(McpSession& session);

  // Free memory of idle sessions until `is_enough()`: of one client, or of all (null). Parked
  // sessions go first, then the ones that have been idle longest. They return the number of
  // sessions. They must not be called from within the core.
  // Drops the events that are kept for clients that come back.
  size_t drop_replay(const Account* client, const std::function<bool()>& is_enough);
  // Forgets sessions. A session can be taken over again if its id carries enough.
  size_t forget_idle(const Account* client, const std::function<bool()>& is_enough);

  // Shutdown: ends the streams that only listen.
  void drain();
  void close_all();
  [[nodiscard]] size_t size() const { return sessions_.size(); }
  void check_invariants() const;  // see McpSession

 private:
  // A session that still has a child is forgotten only when it has been idle for this long.
  static constexpr Duration kLongIdle = std::chrono::minutes(1);

  // Hashes the end of an id. Ids may be long, and no two ids have the same end.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view id) const {
      return std::hash<std::string_view>()(id.substr(id.size() - std::min(id.size(), kHashed)));
    }
    static constexpr size_t kHashed = 16;
  };

  // Whether this is the id of a session here, or of one that has ended here.
  [[nodiscard]] bool knows(std::string_view id);
  void close_those_over();
  void settle_idle();
  // Forgets the session. Its id may carry enough to take it over again.
  void forget(McpSession& session);
  void make_room();
  [[nodiscard]] std::vector<McpSession*> idle_sessions(const Account* client) const;
  McpSession& keep(std::unique_ptr<McpSession> session);

  const McpSessionServices services_;
  const Duration idle_timeout_;
  session::SessionIds& ids_;
  EndedIds ended_;
  std::unordered_map<std::string, std::unique_ptr<McpSession>, Hash, std::equal_to<>> sessions_;
  std::unordered_map<const Account*, size_t> counts_;  // number of sessions by account
  std::vector<std::string> over_;       // ids of sessions that are over and will be closed soon
  size_t next_bucket_ = 0;              // the bucket of sessions_ where make_room() looks first
  McpSessions* predecessor_ = nullptr;  // null: no predecessor
  McpSessions* successor_ = nullptr;    // has this as its predecessor; null: none
  Timer over_timer_;
  Timer idle_timer_;
};

}  // namespace stdgate::mcp
