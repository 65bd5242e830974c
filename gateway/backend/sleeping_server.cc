#include "gateway/backend/sleeping_server.h"

#include "gateway/rpc/message_text.h"

namespace stdgate::backend {

session::ToldLists* SleepingServer::told_to(session::SessionId id) const {
  session::Session* const session = parts_.sessions.find(id);
  return session == nullptr ? nullptr : &session->told;
}

void SleepingServer::for_each_told(
    const std::function<void(session::SessionId, session::ToldLists&)>& visit) const {
  parts_.sessions.for_each_of_client(
      [&visit](session::SessionId id, session::Session& session) { visit(id, session.told); });
}

void SleepingServer::greet(const call::Request& request, call::Call& call,
                           const rpc::Envelope& answer) const {
  parts_.memos.recall(request.intent, call, answer);
  if (!parts_.pool.lane().has(call.session)) return;
  parts_.pool.lane().begin_parked(call.session);
  parts_.sessions.begin_parked(call.session);
}

bool SleepingServer::complete_greeting(session::SessionId session) {
  if (!parts_.pool.lane().complete_greeting(session)) return false;
  parts_.sessions.touch(session);
  return true;
}

bool SleepingServer::let_sleep(const pool::Child& child) {
  if (!keeps_lists()) return false;
  // Calls of virtual servers; all others have to be of sessions.
  const size_t of_watches = parts_.watches.resting();
  if (of_watches > child.in_flight()) return false;
  const size_t of_sessions = child.in_flight() - of_watches;
  const auto sessions = parts_.bridge.fall_asleep(of_sessions);
  if (sessions.size() != of_sessions) return false;
  for (const session::SessionId session : sessions) note_heard(session);
  if (of_watches > 0) {
    note_heard({});
    parts_.watches.tell_sleep();
  }
  return true;
}

void SleepingServer::go_on() const {
  parts_.bridge.go_on_all();
  parts_.watches.tell_awake();
}

void SleepingServer::ask(session::SessionId id, std::string text) const {
  const session::Session* const session = parts_.sessions.find(id);
  const rpc::KnownMessage request(text);
  call::CallContext context;
  context.caller = session::Callers::kGateway;
  context.session = id;
  context.tag = kQuestion;
  context.transport = Transport::mcp;
  context.arrived = parts_.services.core.clock.now();
  context.is_own = true;
  if (session != nullptr) {
    context.client = &session->client;
    context.principal = session->principal.get();
    context.account = session->held.account();
  }
  parts_.backend.accept({request.envelope(), nullptr}, context);
}

void SleepingServer::tell_changed(session::SessionId session, uint8_t lists) const {
  if (session.is_none()) {
    parts_.notices.tell_listeners(lists);
    parts_.watches.tell_changed(lists);
  } else {
    parts_.sessions.tell_changed_to(session, lists);
  }
}

}  // namespace stdgate::backend
