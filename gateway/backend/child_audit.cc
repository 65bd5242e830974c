#include "gateway/backend/child_audit.h"

#include <string>

#include "gateway/base/utf8.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::backend {

namespace {

// The audit cuts its texts; of a longer one no more need be kept.
constexpr size_t kMaxText = 1024;

std::string text_of(std::string_view raw) {
  std::string scratch;
  return std::string(cut_utf8(rpc::decode_string(raw, scratch), kMaxText));
}

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

}  // namespace stdgate::backend
