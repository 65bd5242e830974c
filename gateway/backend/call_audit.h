// CallAudit: what of a backend's calls goes into the audit.
//
// Job: find with the dialect what a call is about, keep it with the call, record its end. Owner: a
// backend. Without an audit everything passes.
#pragma once

#include <string>
#include <string_view>

#include "gateway/audit.h"
#include "gateway/call/call.h"
#include "gateway/call/call_context.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/session.h"

namespace stdgate::backend {

class CallAudit {
 public:
  // `audit`: null: there is none.
  CallAudit(Audit* audit, std::string_view backend, const pool::Dialect& dialect)
      : audit_(audit), backend_(backend), dialect_(dialect) {}
  CallAudit(const CallAudit&) = delete;
  CallAudit& operator=(const CallAudit&) = delete;

  // A request has come; `method` is decoded. False: its end could not be recorded, so it must not
  // begin.
  bool begin(const rpc::Envelope& request, std::string_view method,
             const call::CallContext& context, call::Call& call);
  // A call is refused without a look at its message.
  void note_client(const call::CallContext& context, call::Call& call);
  // A notification has come, which rules may have denied. False: it could not be recorded.
  bool pass(const rpc::Envelope& notification, std::string_view method,
            const call::CallContext& context, const session::Session* session, bool is_denied);
  // The end of a call, and its answer, if there is one. Gives what is to be answered, valid until
  // the next end: an answer must not go out where its line could not be written.
  const session::Reply* end(const call::Call& call, CallRecord& record,
                            const session::Reply* reply) {
    if (audit_ == nullptr) return reply;
    const bool is_recorded =
        audit_->record_call(backend_, record, call.is_audited, call.audit_notes);
    return is_recorded || reply == nullptr ? reply : withhold(call, record);
  }

 private:
  void describe(const rpc::Envelope& message, std::string_view method,
                const call::CallContext& context, bool is_covered, std::string& notes);
  const session::Reply* withhold(const call::Call& call, CallRecord& record);

  Audit* const audit_;
  const std::string_view backend_;
  const pool::Dialect& dialect_;
  std::string name_;   // scratch
  std::string notes_;  // scratch
  std::string fault_;  // that withheld_ shows
  session::Reply withheld_;
};

}  // namespace stdgate::backend
