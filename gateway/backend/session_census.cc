#include "gateway/backend/session_census.h"

#include "gateway/session/session_sink.h"

namespace stdgate::backend {

size_t at_work_of(const SlotMap<session::Session>& sessions, const policy::ClientRef& client) {
  if (client.principal == nullptr && client.address.is_none()) return 0;
  size_t count = 0;
  sessions.for_each([&](session::SessionId, const session::Session& session) {
    const bool is_at_work = session.state != SessionState::parked;
    const policy::ClientRef other{session.principal.get(), session.client};
    if (is_at_work && policy::is_same_client(other, client)) ++count;
  });
  return count;
}

session::Session* longest_idle(SlotMap<session::Session>& sessions) {
  session::Session* longest = nullptr;
  sessions.for_each([&](session::SessionId, session::Session& session) {
    const bool may_go = session.state != SessionState::parked && session.sink != nullptr &&
                        session.sink->hold() == session::ClientHold::nothing;
    if (may_go && (longest == nullptr || session.used < longest->used)) longest = &session;
  });
  return longest;
}

}  // namespace stdgate::backend
