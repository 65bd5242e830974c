#include "gateway/backend/session_journal.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace stdgate::backend {

void SessionJournal::identify(session::Session& session, const policy::Client& client) const {
  session.client = client.address;
  session.principal = client.principal;
  session.name = session.sink->name();
  if (session.name.is_none()) {
    session.name = SessionName::of(static_cast<uint32_t>(services_.core.random()));
  }
  session.opened = session.used = services_.core.clock.now();
}

void SessionJournal::open(session::Session& session) {
  services_.core.observer.on_session_opened(services_.backend);
  if (services_.core.audit != nullptr) {
    services_.core.audit->on_session_opened(audited(session));
  }
  // Where clients introduce themselves, that log line follows later.
  if (services_.dialect.traits().greeting_completion.empty()) write(session, "session opened", {});
}

void SessionJournal::introduce(session::Session& session, std::string label) {
  session.label = std::move(label);
  write(session, "session opened", {});
}

void SessionJournal::serve(session::Session& session, pool::Child& child) const {
  session.own_child = child.number();
  // A trip serves several clients, one after the other, so its child has no client's name.
  if (!session.is_of_client()) return;
  child.set_client(session.name, session.client.to_string(),
                   session.principal == nullptr ? std::string() : session.principal->name);
}

void SessionJournal::adopt(session::Session& session, std::string label, Duration age) {
  session.label = std::move(label);
  session.opened -= age;
  session.is_new_here = true;
  open(session);
  park(session, ParkReason::taken_over);
}

void SessionJournal::park(session::Session& session, ParkReason reason) {
  if (!session.is_of_client()) return;
  set_state(session, SessionState::parked);
  services_.core.observer.on_session_parked(services_.backend, reason);
  write(session, "session parked", {"reason", park_reason_name(reason)});
}

void SessionJournal::wake(session::Session& session) {
  if (session.is_of_client()) set_state(session, SessionState::reviving);
}

void SessionJournal::revive(session::Session& session, RevivalOutcome outcome,
                            Duration since_request) {
  if (!session.is_of_client()) return;
  if (outcome != RevivalOutcome::failed) resume(session);
  services_.core.observer.on_session_revived(services_.backend, outcome, since_request);
  write(session, "session revived", {"outcome", revival_outcome_name(outcome)});
}

void SessionJournal::close(session::Session& session) {
  if (!session.is_of_client()) return;
  if (session.state == SessionState::parked) --parked_;
  services_.core.observer.on_session_closed(services_.backend, session.state);
  if (services_.core.audit != nullptr) services_.core.audit->on_session_ended(audited(session));
  write(session, "session ended", {"messages", session.messages});
}

AuditedSession SessionJournal::audited(const session::Session& session) const {
  return {services_.config.name,
          session.name,
          {session.principal.get(), session.client},
          session.label,
          services_.core.clock.now() - session.opened};
}

pool::SessionStatus SessionJournal::status(const session::Session& session) const {
  const TimePoint now = services_.core.clock.now();
  return {session.state,    session.label,        session.client.to_string(),
          session.messages, now - session.opened, now - session.used};
}

void SessionJournal::describe(const session::SessionTable& sessions,
                              pool::BackendStatus& status) const {
  status.parked_sessions = parked_;
  std::vector<const session::Session*> all;
  sessions.for_each([&all](session::SessionId, const session::Session& session) {
    if (session.is_of_client()) all.push_back(&session);
  });
  status.sessions = all.size();
  const auto first_by = [&](auto less) {
    const auto end = all.begin() + static_cast<ptrdiff_t>(std::min(all.size(), kMaxDescribed));
    std::partial_sort(all.begin(), end, all.end(),
                      [&less](const auto* one, const auto* other) { return less(*one, *other); });
    std::vector<pool::SessionStatus> described;
    std::transform(all.begin(), end, std::back_inserter(described),
                   [this](const session::Session* session) { return this->status(*session); });
    return described;
  };
  using session::Session;
  status.oldest_sessions =
      first_by([](const Session& one, const Session& other) { return one.opened < other.opened; });
  status.longest_idle_sessions =
      first_by([](const Session& one, const Session& other) { return one.used < other.used; });
  status.busiest_sessions = first_by(
      [](const Session& one, const Session& other) { return one.messages > other.messages; });
}

void SessionJournal::set_state(session::Session& session, SessionState state) {
  if (session.state == state) return;
  if (session.state == SessionState::parked) --parked_;
  if (state == SessionState::parked) ++parked_;
  services_.core.observer.on_session_state(services_.backend, session.state, state);
  session.state = state;
}

void SessionJournal::write(const session::Session& session, std::string_view event,
                           LogField detail) const {
  if (!services_.core.log.enabled(LogLevel::info)) return;
  const std::string address = session.client.to_string();
  services_.core.log.write(
      LogLevel::info, event,
      {{"backend", services_.config.name},
       detail,
       {"session", session.name.view()},
       {"client", if_any(address)},
       {"principal",
        if_any(session.principal == nullptr ? std::string_view() : session.principal->name)},
       {"client_name", if_any(session.label)},
       {"child", if_any(session.own_child)},
       {"age_ms", services_.core.clock.now() - session.opened}});
}

}  // namespace stdgate::backend
