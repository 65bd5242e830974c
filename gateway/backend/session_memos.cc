#include "gateway/backend/session_memos.h"

#include <utility>

#include "gateway/rpc/json_text.h"

namespace stdgate::backend {

void SessionMemos::on_request(call::CallPtr& call, const call::Request& request) {
  using Kind = call::ClientIntent::Kind;
  const call::ClientIntent& intent = request.intent;
  sessions_.wishes().note_call(*call);
  if (intent.kind == Kind::set_severity) return accept_severity(call, intent);
  if (!call->session.is_none()) {
    const auto kept = keep(intent, *call);
    if (!kept) return chain_.on_fault(std::move(call), kept.error());
  }
  const bool is_subscription = intent.kind == Kind::subscribe || intent.kind == Kind::unsubscribe;
  if (is_subscription) accept_subscription(call, intent);
}

// A shared child has one level for all sessions, so the gateway itself filters for each session.
void SessionMemos::accept_severity(call::CallPtr& call, const call::ClientIntent& intent) {
  const auto refuse = [this, &call](const char* why) {
    const call::CallPtr refused = std::move(call);
    chain_.answer_error(*refused, {rpc::RpcError::invalid_params, why});
  };
  if (!intent.severity) return refuse("no such log level");
  if (sessions_.find(call->session) == nullptr) {
    return refuse("a log level belongs to a session, and this call has none");
  }
  sessions_.set_severity(call->session, *intent.severity);
  answer(call, intent.result);
}

// Only subscriptions of sessions are counted. A call without a session passes to the child, but
// must not end subscriptions of sessions.
void SessionMemos::accept_subscription(call::CallPtr& call, const call::ClientIntent& intent) {
  // The kind is not known yet, and only stateful children know such requests.
  if (!pool_.peer_kind()) call->route.written_for = PeerKind::stateful;
  const std::string_view key = rpc::decode_string(intent.key, key_);
  if (intent.kind == call::ClientIntent::Kind::subscribe) {
    if (sessions_.find(call->session) == nullptr) return;
    const auto is_to_ask = subscribe(call->session, key);
    if (!is_to_ask) return chain_.on_fault(std::move(call), is_to_ask.error());
    if (!*is_to_ask) return answer(call, intent.result);
    subscribed_.of(call->slots).text = key;
  } else {
    const auto child = unsubscribe(call->session, key);
    if (!child) return answer(call, intent.result);
    call->route.child = *child;
  }
}

tl::expected<void, rpc::FaultReport> SessionMemos::keep(const call::ClientIntent& intent,
                                                        call::Call& call) {
  if (auto usable = sessions_.use(call.session); !usable) return usable;
  if (intent.memo == call::SessionMemo::none) {
    const session::Session* const session = sessions_.find(call.session);
    const bool is_unproven = session != nullptr && session->is_unproven;
    if (is_unproven) notes_.of(call.slots).memo = call::SessionMemo::first;
    return {};
  }
  const Note& note = note_of(intent, call);
  const pool::SessionMemory* const memory = pool_.lane().memory_of(call.session);
  if (memory == nullptr || note.memo != call::SessionMemo::subscribe ||
      memory->has_room_for(note.text)) {
    return {};
  }
  return tl::unexpected(rpc::faults::too_many_subscriptions());
}

const SessionMemos::Note& SessionMemos::note_of(const call::ClientIntent& intent,
                                                call::Call& call) {
  Note& note = notes_.of(call.slots);
  note.memo = intent.memo;
  if (note.memo == call::SessionMemo::greeting) {
    call.greeting = intent.memo_text;
  } else {
    note.text = rpc::decode_string(intent.memo_text, key_);
    call.kept_bytes += note.text.size();
  }
  return note;
}

void SessionMemos::recall(const call::ClientIntent& intent, call::Call& call,
                          const rpc::Envelope& answer) {
  sessions_.touch(call.session);
  learn(call, note_of(intent, call), answer);
}

// The greeting of a session that shares children identifies the client.
void SessionMemos::learn(call::Call& call, const Note& note, const rpc::Envelope& answer) {
  using Memo = call::SessionMemo;
  if (note.memo == Memo::first) return prove(call);
  const bool is_greeting = note.memo == Memo::greeting;
  if (pool::SessionMemory* const memory = pool_.lane().memory_of(call.session); memory != nullptr) {
    is_greeting ? memory->learn_greeting(call.greeting, answer, dialect_)
                : memory->learn(note.memo, note.text);
    sessions_.charge(call.session);
  }
  if (!is_greeting) return;
  call.revision = dialect_.agreed_revision(answer, call.greeting);
  sessions_.introduce(call.session, call.greeting);
  sessions_.charge(call.session);
  if (session::Session* const session = sessions_.find(call.session)) {
    session->revision = call.revision;
  }
  if (call.child_kind == PeerKind::stateless) bridge_.begin_listening(call.session, answer);
}

// A session of another process has been served by a shared child for the first time. If the child
// is stateless, the gateway listens at it. If the child is a stateful one, it has to speak the
// revision of the session.
void SessionMemos::prove(const call::Call& call) {
  session::Session* const session = sessions_.find(call.session);
  if (session == nullptr || !std::exchange(session->is_unproven, false)) return;
  if (call.child_kind == PeerKind::stateless) return bridge_.go_on(call.session);
  const pool::Child* const child = pool_.find_child(call.child);
  if (child == nullptr || session->revision.empty()) return;
  const std::string_view revision = child->facts().protocol_version;
  if (revision.empty() || revision == session->revision) return;
  session->end(session::SessionEnd::failed,
               "the server speaks another revision of its protocol now");
}

tl::expected<bool, rpc::FaultReport> SessionMemos::subscribe(session::SessionId session,
                                                             std::string_view key) {
  if (bridge_.wants(session, key)) return false;
  if (pool_.peer_kind() != PeerKind::stateless) return sessions_.subscribe(session, key);
  return bridge_.subscribe(session, key).map([] { return false; });
}

std::optional<uint64_t> SessionMemos::unsubscribe(session::SessionId session,
                                                  std::string_view key) {
  if (bridge_.unsubscribe(session, key) || pool_.peer_kind() == PeerKind::stateless)
    return std::nullopt;
  return sessions_.unsubscribe(session, key);
}

}  // namespace stdgate::backend
