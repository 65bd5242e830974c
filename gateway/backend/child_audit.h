// ChildAudit: what children ask and tell their clients, in the audit.
//
// Job: a line for each request of a child when it ends, for what rules have kept from its client,
// and for the notifications that the protocol has a title for. A call is described by AuditFilter.
// Owner: SessionQuestions. Without an audit it does nothing.
#pragma once

#include <memory>
#include <string_view>

#include "gateway/audit.h"
#include "gateway/pool/pool_services.h"
#include "gateway/session/session.h"

namespace stdgate::backend {

class ChildAudit {
 public:
  explicit ChildAudit(const pool::PoolServices& services) : services_(services) {}

  // Null: the audit says nothing of this request. `method` is decoded.
  [[nodiscard]] std::unique_ptr<session::AskNotes> notes_of(const session::Session& session,
                                                            const rpc::Envelope& request,
                                                            std::string_view method) const;
  void note_answer(session::AskNotes& notes, const rpc::Envelope& answer) const;
  // A request has ended.
  void record(const session::AskNotes& notes, std::string_view outcome, Duration open) const {
    record(notes, {.asks = true, .outcome = outcome, .open = open});
  }
  // A request or a notification.
  void record_denied(const session::Session& session, const rpc::Envelope& message,
                     std::string_view method) const;
  void note_told(const session::Session& session, const rpc::Envelope& notification,
                 std::string_view method) const;

 private:
  [[nodiscard]] session::AskNotes describe(const session::Session& session,
                                           const rpc::Envelope& message,
                                           std::string_view method) const;
  // `message`: what is not in the notes.
  void record(const session::AskNotes& notes, AuditedChildMessage message) const;

  const pool::PoolServices& services_;
};

}  // namespace stdgate::backend
