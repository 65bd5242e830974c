// SessionTable: the sessions of one backend, by handle, and how many there are of each kind.
//
// Each kind has a limit of its own, so that clients' sessions and calls that need a session do not
// take each other's room. Owner: the session router. Limits: those given for each kind.
#pragma once

#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/base/slot_map.h"
#include "gateway/session/session.h"

namespace stdgate::session {

class SessionTable {
 public:
  using Limits = std::array<size_t, kSessionKindCount>;  // by kind

  explicit SessionTable(const Limits& limits)
      : limits_(limits), sessions_(std::accumulate(limits.begin(), limits.end(), size_t{0})) {}

  // A new session. Nothing: the limit of this kind is reached.
  std::optional<SessionId> open(SessionKind kind) {
    if (size(kind) >= limits_[index_of(kind)]) return std::nullopt;
    const auto id = sessions_.acquire();
    STDGATE_CHECK(id.has_value());
    ++counts_[index_of(kind)];
    Session& session = *sessions_.find(*id);
    session = {};
    session.id = *id;
    session.kind = kind;
    return id;
  }
  // The session must be open. Its owner first takes out what the owner owns.
  void close(SessionId id) {
    Session& session = *sessions_.find(id);
    --counts_[index_of(session.kind)];
    static_cast<void>(std::exchange(session, {}));  // an assignment would keep its texts' memory
    sessions_.release(id);
  }

  // Null: the session is not open.
  [[nodiscard]] Session* find(SessionId id) { return sessions_.find(id); }
  [[nodiscard]] const Session* find(SessionId id) const { return sessions_.find(id); }
  // Calls visit(SessionId, Session&) for each session. The visitor may close sessions, but not open
  // any.
  template <class Visitor>
  void for_each(Visitor&& visit) {
    sessions_.for_each(visit);
  }
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    sessions_.for_each(visit);
  }
  // See SlotMap.
  template <class Visitor>
  uint32_t for_some(uint32_t from, size_t most, Visitor&& visit) {
    return sessions_.for_some(from, most, visit);
  }
  [[nodiscard]] size_t size(SessionKind kind) const { return counts_[index_of(kind)]; }

 private:
  static size_t index_of(SessionKind kind) { return static_cast<size_t>(kind); }

  const Limits limits_;
  std::array<size_t, kSessionKindCount> counts_{};
  SlotMap<Session> sessions_;
};

}  // namespace stdgate::session
