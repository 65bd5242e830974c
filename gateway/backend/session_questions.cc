#include "gateway/backend/session_questions.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "gateway/call/call.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::backend {

namespace {

// The audit cuts its texts; of a longer one no more need be kept.
constexpr size_t kMaxText = 1024;

std::string text_of(std::string_view raw) {
  std::string scratch;
  return std::string(cut_utf8(rpc::decode_string(raw, scratch), kMaxText));
}

// Questions are checked this many times within their timeout, so they may stay a bit longer.
constexpr int64_t kLooks = 64;
constexpr uint32_t kMaxLinesPerSecond = 10;

}  // namespace

session::AskNotes ChildAudit::describe(const session::Session& session,
                                       const rpc::Envelope& message,
                                       std::string_view method) const {
  const call::Particulars found = services_.dialect.particulars(message, method);
  return {.method = std::string(cut_utf8(method, kMaxText)),
          .session = session.name,
          .principal = session.principal,
          .client = session.client,
          .of_session = text_of(found.session),
          .title = text_of(found.title)};
}

std::unique_ptr<session::AskNotes> ChildAudit::notes_of(const session::Session& session,
                                                        const rpc::Envelope& request,
                                                        std::string_view method) const {
  const Audit* const audit = services_.core.audit;
  if (audit == nullptr || !session.is_of_client() || !audit->covers(method)) return nullptr;
  return std::make_unique<session::AskNotes>(describe(session, request, method));
}

void ChildAudit::note_answer(session::AskNotes& notes, const rpc::Envelope& answer) const {
  notes.option = text_of(services_.dialect.particulars(answer, notes.method).option);
}

void ChildAudit::record(const session::AskNotes& notes, AuditedChildMessage message) const {
  message.backend = services_.config.name;
  message.session = notes.session;
  message.client = {notes.principal.get(), notes.client};
  message.method = notes.method;
  message.of_session = notes.of_session;
  message.title = notes.title;
  message.option = notes.option;
  services_.core.audit->on_child_message(message);
}

void ChildAudit::record_denied(const session::Session& session, const rpc::Envelope& message,
                               std::string_view method) const {
  if (services_.core.audit == nullptr) return;
  record(describe(session, message, method), {.asks = message.kind == rpc::MessageKind::request,
                                              .outcome = Outcome::of(rpc::Fault::denied).name()});
}

void ChildAudit::note_told(const session::Session& session, const rpc::Envelope& notification,
                           std::string_view method) const {
  const Audit* const audit = services_.core.audit;
  if (audit == nullptr || !audit->covers(method) ||
      services_.dialect.particulars(notification, method).title.empty()) {
    return;
  }
  record(describe(session, notification, method), AuditedChildMessage{});
}

void tell_client(const pool::PoolServices& services, const session::Session& session,
                 std::span<const std::string_view> parts) {
  if (session.has_ended) return services.drop(DropReason::no_listener);
  services.core.observer.on_message(services.backend, Direction::to_client, parts);
  session.sink->on_message(std::nullopt, parts);
}

SessionQuestions::SessionQuestions(const pool::PoolServices& services, pool::Pool& pool,
                                   session::SessionTable& sessions, pool::Bridge& bridge,
                                   const Duration& input_timeout)
    : services_(services),
      pool_(pool),
      sessions_(sessions),
      bridge_(bridge),
      input_timeout_(input_timeout),
      timer_(services.core.timers, [this] { look_at_time(); }),
      log_lines_(kMaxLinesPerSecond),
      audit_(services) {}

bool SessionQuestions::ask(session::Session& session, session::Ask ask,
                           std::optional<session::Tag> call, const rpc::Envelope& request) {
  ask.asked = now();
  if (ask.round == 0 && session.kind == session::SessionKind::client) {
    ask.expires = now() + patience();
    if (!timer_.armed()) timer_.arm(ask.expires);
  }
  if (session.asks == nullptr) {
    session.asks = std::make_unique<session::Asks>(of_children_, session);
  }
  const auto id = session.asks->open(std::move(ask));
  if (!id) return false;
  services_.core.observer.on_question_asked(services_.backend);
  const std::string digits = std::to_string(*id);
  const auto parts = with_replaced(request.text, place_of(request.id, request.text), digits);
  services_.core.observer.on_message(services_.backend, Direction::to_client, parts);
  session.sink->on_message(call, parts);
  return true;
}

void SessionQuestions::note_ended(const session::Ask& ask, QuestionEnd end) const {
  const Duration open = now() - ask.asked;
  services_.core.observer.on_question_ended(services_.backend, ask.method, end, open);
  if (ask.notes != nullptr) audit_.record(*ask.notes, question_end_name(end), open);
}

void SessionQuestions::withdraw(session::Session& session, uint64_t round) const {
  if (session.asks == nullptr) return;
  session::Asks& asks = *session.asks;
  for (auto ask = asks.oldest(); ask;) {
    const auto next = asks.next(*ask);
    if (asks.at(*ask).round == round) {
      asks.close(*ask, QuestionEnd::withdrawn);
      tell_cancelled(session, *ask);
    }
    ask = next;
  }
}

void SessionQuestions::give_up(session::Session& session) {
  if (session.asks == nullptr) return;
  while (const auto oldest = session.asks->oldest()) {
    const session::Ask ask = session.asks->close(*oldest, QuestionEnd::left);
    // The request may still reach the client.
    tell_cancelled(session, *oldest);
    if (ask.round != 0) {
      bridge_.on_round_answer(ask.round, ask.id, nullptr);
      continue;
    }
    child_that_asked(ask).refuse(ask.id, rpc::RpcError::method_not_found,
                                 "no client here takes requests");
  }
}

void SessionQuestions::tell_cancelled(const session::Session& session, rpc::WireId ask) const {
  const std::string cancel = services_.dialect.cancel(ask, pool::CancelReason::deadline);
  const std::string_view text = cancel;
  if (!cancel.empty()) tell_client(services_, session, {&text, 1});
}

pool::Child& SessionQuestions::child_that_asked(const session::Ask& ask) const {
  pool::Child* const child = pool_.find_child(ask.child);
  STDGATE_CHECK(child != nullptr);
  return *child;
}

// --- Time -----------------------------------------------------------------------------------

void SessionQuestions::note_end(session::SessionId session, const session::Ask& ask) const {
  if (ask.round == 0) child_that_asked(ask).resume_clocks(session);
}

bool SessionQuestions::awaits_answer(uint64_t child, session::SessionId session) const {
  return of_children_.any_of(child, [&](const session::AskIndex::Place& place) {
    const session::Ask& open = place.asks->at(place.id);
    const bool is_meant = session.is_none() || place.asks->session().id == session;
    return is_meant && open.has_time();
  });
}

bool SessionQuestions::may_return(const session::Session& session) const {
  return services_.config.linger > Duration::zero() && session.sink != nullptr &&
         session.sink->hold() == session::ClientHold::nothing;
}

void SessionQuestions::look_at_time() {
  const TimePoint time = now();
  std::optional<TimePoint> next;
  std::vector<std::pair<session::SessionId, rpc::WireId>> late;
  sessions_.for_each([&](session::SessionId id, const session::Session& session) {
    if (session.asks == nullptr) return;
    session::Asks& asks = *session.asks;
    const bool waits_for_return = may_return(session);
    for (auto ask = asks.oldest(); ask; ask = asks.next(*ask)) {
      session::Ask& open = asks.at(*ask);
      if (!open.has_time()) continue;
      const bool is_late = open.expires <= time;
      if (is_late && !waits_for_return && pool_.lane().has_calls_at(id, open.child)) {
        late.emplace_back(id, *ask);
        continue;
      }
      if (is_late) open.expires = time + patience();
      next = std::min(next.value_or(open.expires), open.expires);
    }
  });
  if (next) timer_.arm(std::max(*next, time + patience() / kLooks));
  for (const auto& [session, ask] : late) expire(session, ask);
}

void SessionQuestions::expire(session::SessionId id, rpc::WireId ask_id) {
  session::Session* const session = sessions_.find(id);
  if (session == nullptr || session->asks == nullptr || session->asks->find(ask_id) == nullptr) {
    return;
  }
  const session::Ask ask = session->asks->close(ask_id, QuestionEnd::expired);
  tell_cancelled(*session, ask_id);
  const rpc::FaultReport report = call::gave_up_question(services_.config, input_timeout_);
  child_that_asked(ask).refuse(ask.id, rpc::fault_code(report.fault, services_.dialect.codes()),
                               report.message);
  note_end(id, ask);
  if (!log_lines_.allow(now())) return;
  const std::string client = session->client.to_string();
  const policy::Principal* const principal = session->principal.get();
  services_.core.log.write(
      LogLevel::info, "question withdrawn",
      {{"backend", services_.config.name},
       {"child", ask.child},
       {"session", if_any(session->name.view())},
       {"client", if_any(client)},
       {"principal", if_any(principal == nullptr ? std::string_view() : principal->name)},
       {"why", report.message},
       {"suppressed", log_lines_.take_suppressed()}});
}

}  // namespace stdgate::backend
