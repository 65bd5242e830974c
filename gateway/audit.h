// Audit: the record of clients' actions, as core and transports know it. Unlike an Observer, an
// audit may refuse: a call that has to be recorded and cannot be is refused.
//
// Contract: called on the loop's thread, must not call back, must not throw. A call may wait for a
// disk. Views are valid during the call.
#pragma once

#include <string>
#include <string_view>

#include "gateway/base/addresses.h"
#include "gateway/observer.h"
#include "gateway/policy/client.h"

namespace stdgate {

// The client that has acted.
struct AuditedClient {
  const policy::Principal* principal = nullptr;  // null: anonymous
  ClientAddress address{};
};

// The subject of a call, as known at its arrival. Names are decoded.
struct AuditedCall {
  AuditedClient client;
  std::string_view element;  // kind of `name`: "tool", "resource", "prompt"; empty: none
  std::string_view name;
  std::string_view params;        // raw JSON; empty: none
  std::string_view of_session{};  // of the protocol, which the call names; empty: none
};

// A request of a child to its client that has ended, or a notification of a child.
struct AuditedChildMessage {
  std::string_view backend{};
  SessionName session{};
  AuditedClient client{};
  std::string_view method{};
  bool asks = false;              // it is a request
  std::string_view outcome{};     // "denied", or a question_end_name(); empty: it has been told
  std::string_view of_session{};  // see call::Particulars
  std::string_view title{};
  std::string_view option{};
  Duration open{0};  // from the request to its end
};

// A session of a client that has begun or ended.
struct AuditedSession {
  std::string_view backend;
  SessionName session;
  AuditedClient client;
  std::string_view label;  // name that the client gives itself; may be empty
  Duration age{0};
};

// A request that was refused before it became a call.
struct AuditedRefusal {
  AuditedClient client;
  std::string_view method;  // of HTTP; empty: the head could not be read
  std::string_view path;    // as sent, without the query
  int status = 0;
  Refusal reason = Refusal::other;
  uint64_t connection = 0;
};

// A TLS handshake that was refused because of the client's certificate, or the lack of one.
struct AuditedHandshake {
  const ClientAddress& address;
  std::string_view listener;  // its address
  HandshakeFailure reason = HandshakeFailure::bad_client_certificate;
  std::string_view detail;  // what is wrong with the certificate; may be empty
};

class Audit {
 public:
  virtual ~Audit() = default;

  // Whether all calls of `method` (decoded) are recorded, whatever their outcome.
  [[nodiscard]] virtual bool covers(std::string_view method) const = 0;
  // False: calls that have to be recorded must be refused.
  [[nodiscard]] virtual bool can_record() const = 0;
  // Writes to `notes`, a text of the audit, what the line of this call will need.
  virtual void describe_call(const AuditedCall& call, bool is_covered, std::string& notes) = 0;
  // The end of a call that was described. False: its line could not be written as required, so its
  // answer must not go out.
  [[nodiscard]] virtual bool record_call(std::string_view backend, const CallRecord& call,
                                         bool is_covered, std::string_view notes) = 0;
  // A notification that is covered, or was denied.
  virtual void record_notification(std::string_view backend, const CallRecord& notification,
                                   bool is_covered, std::string_view notes) = 0;

  virtual void on_child_message(const AuditedChildMessage& message) = 0;
  virtual void on_session_opened(const AuditedSession& session) = 0;
  virtual void on_session_ended(const AuditedSession& session) = 0;
  virtual void on_refused(const AuditedRefusal& refusal) = 0;
  virtual void on_handshake_refused(const AuditedHandshake& handshake) = 0;
};

// Whether this failure of a handshake counts as a failed login.
inline bool is_refusal_of_certificate(HandshakeFailure reason) {
  return reason == HandshakeFailure::no_client_certificate ||
         reason == HandshakeFailure::bad_client_certificate;
}

// Whether a call with this outcome was refused because of its client, or of the client's calls.
inline bool is_refusal_of_client(Outcome outcome) {
  return outcome == Outcome::of(rpc::Fault::denied) ||
         outcome == Outcome::of(rpc::Fault::insufficient_scope) ||
         outcome == Outcome::of(rpc::Fault::rate_limited);
}

}  // namespace stdgate
