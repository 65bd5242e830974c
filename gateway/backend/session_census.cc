#include "gateway/backend/session_census.h"

#include <algorithm>
#include <optional>

#include "gateway/session/sinks.h"

namespace stdgate::backend {

size_t at_work_of(const session::SessionTable& sessions, const policy::ClientRef& client) {
  if (client.principal == nullptr && client.address.is_none()) return 0;
  size_t count = 0;
  sessions.for_each([&](session::SessionId, const session::Session& session) {
    const bool is_at_work = session.state != SessionState::parked;
    const policy::ClientRef other{session.principal.get(), session.client};
    if (is_at_work && policy::is_same_client(other, client)) ++count;
  });
  return count;
}

bool has_its_share(const session::SessionTable& sessions, const policy::ClientRef& client,
                   const config::BackendConfig& config, uint32_t places) {
  const uint32_t most = config.calls_per_principal.sessions;
  if (most > 0) return at_work_of(sessions, client) >= most;
  if (client.principal == nullptr || config.isolation == config::Isolation::shared) return false;
  size_t own = 0;
  size_t all = 0;
  bool others_wait = false;
  sessions.for_each([&](session::SessionId, const session::Session& session) {
    if (session.state == SessionState::parked) return;
    ++all;
    if (policy::is_same_client({session.principal.get(), session.client}, client)) {
      ++own;
    } else if (session.state == SessionState::reviving) {
      others_wait = true;
    }
  });
  return others_wait && all >= places && own >= std::max<size_t>(1, places / 2);
}

void end_unless(session::SessionTable& sessions,
                const std::function<bool(const policy::Principal*)>& is_admitted,
                session::SessionEnd end, std::string_view message) {
  sessions.for_each([&](session::SessionId, session::Session& session) {
    if (!session.is_of_client() || session.sink == nullptr) return;
    if (is_admitted(session.principal.get())) return;
    session.end(end, message);
  });
}

session::Session* longest_idle(session::SessionTable& sessions, uint32_t& place) {
  session::Session* longest = nullptr;
  place = sessions.for_some(place, kMaxLook, [&](session::SessionId, session::Session& session) {
    const bool may_go = session.is_of_client() && session.state != SessionState::parked &&
                        session.sink != nullptr &&
                        session.sink->hold() == session::ClientHold::nothing;
    if (may_go && (longest == nullptr || session.used < longest->used)) longest = &session;
  });
  return longest;
}

uint32_t set_reading_all(session::SessionTable& sessions,
                         const std::function<bool(session::SessionId)>& has_own_child, bool reading,
                         uint32_t last_first) {
  std::optional<uint32_t> next;
  sessions.for_each([&](session::SessionId some, session::Session&) {
    if (!next && some.index > last_first) next = some.index;
  });
  const uint32_t first = next.value_or(0);
  for (const bool before : {false, true}) {
    sessions.for_each([&](session::SessionId some, session::Session& session) {
      if ((some.index < first) == before && !has_own_child(some)) session.set_reading(reading);
    });
  }
  return first;
}

}  // namespace stdgate::backend
