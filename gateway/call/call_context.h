// A client's message, as the core is told of it: where it comes from, and what it means.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/base/time.h"
#include "gateway/base/trace_context.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/policy/client.h"
#include "gateway/session/log_verbosity.h"
#include "gateway/session/sinks.h"

namespace stdgate::call {

// Params of a message, as far as a transport has read them already. The protocol of the message
// knows the type.
struct KnownParams {};

// CallContext: where a client's message comes from, and where its answer goes. Made by transports.
struct CallContext {
  session::Caller caller;
  session::SessionId session;  // none: the message stands alone
  session::Tag tag = 0;
  Transport transport = Transport::rpc;
  std::optional<PeerKind> peer_kind{};  // of the client; nothing: plain JSON-RPC
  uint64_t connection = 0;              // for the log
  const TraceContext* trace = nullptr;  // the caller's; null: none. Valid during the call only
  TimePoint arrived{};
  std::optional<Duration> timeout{};             // of a request; nothing: the upstream's
  const ClientAddress* client = nullptr;         // null: not known. Valid during the call only
  const policy::Principal* principal = nullptr;  // null: anonymous. Valid during the call only
  // The account of the client, which pays for what is kept of the message; null: none.
  Account* account = nullptr;
  // The arguments that the client repeats outside the message, a line `NAME:VALUE` each. Nothing:
  // this transport has no such copies. Valid during the call only.
  std::optional<std::string_view> mirrored{};
  // Null: the transport has read none, or those of another message. Valid during the call only.
  const KnownParams* params = nullptr;
  bool is_own = false;  // the gateway asks, for a session or all: no limit of the client counts it
  bool is_of_server = false;  // by a virtual server: its client can open no session here
  bool wants_events = false;  // notifications of the call go to ReplySink::on_event()
};

// Facts, besides the text, that decide how a client's message is read.
struct Reading {
  config::Isolation isolation = config::Isolation::shared;  // how clients share the child
  std::optional<PeerKind> peer_kind{};                      // of the client
  const KnownParams* params = nullptr;                      // as CallContext::params
};

// Which part of a message to a session's own child has to be repeated for the session's next child.
enum class SessionMemo : uint8_t {
  none,
  first,       // only that this is the first call of a session from another process
  greeting,    // the params of the greeting
  completion,  // the notification that completes the greeting
  severity,    // the level from which log messages are wanted
  subscribe,
  unsubscribe,
};

// ClientIntent: the meaning of a client's message, as far as its protocol defines one.
struct ClientIntent {
  enum class Kind : uint8_t {
    forward,
    cancel,        // a notification that cancels the call with the raw id `cancelled_id`
    handshake,     // a request that the child's answer to the gateway's own handshake answers
    swallow,       // a notification that the gateway has already sent to the child
    subscribe,     // a request for updates of `key` from a shared child
    unsubscribe,   // the end of such a request
    set_severity,  // a request for log messages from `severity` on
  };
  Kind kind = Kind::forward;
  std::string_view cancelled_id;
  std::string_view progress_token;  // raw value inside params; empty: none
  // The called tool, as spelled between its quotes; empty: none. Then its arguments, raw JSON;
  // empty: none.
  std::string_view tool;
  std::string_view arguments;
  bool is_clear = true;  // all readers see the same tool and arguments
  // The subscribed key, as spelled between its quotes. Then the result (raw JSON) if the gateway
  // answers itself; it lives as long as the dialect.
  std::string_view key;
  std::string_view result;
  std::optional<session::Severity> severity;  // nothing: the client asked for an unknown level
  // The part of the message that a session's next child has to be told again: see SessionMemory.
  // `memo_text` is raw JSON; for subscriptions and levels, it is the text as spelled between the
  // quotes.
  SessionMemo memo = SessionMemo::none;
  std::string_view memo_text;
  // Whether this request is the first that a session's own child has to answer: see
  // DialectTraits::greeting.
  bool greets = false;
  // Whether the answer to this request describes the session's own child: see Dialect::facts().
  bool introduces = false;
  // Of stateless clients.
  bool only_of_stateful = false;  // an old request that a stateless child is asked too
  bool may_be_asked = false;      // the client can be asked while it waits
  bool may_need_input = false;    // the answer may be a question for the client
  bool resumes = false;           // continues a call that has needed input
  bool listens = false;           // stays open, and is made for its events
  uint8_t lists = 0;              // lists whose changes it asks for: bits of the dialect
  // A value inside the message that is replaced for the child; empty: none.
  std::string_view replaced;
  std::string_view replacement;  // lives as long as the dialect
};

}  // namespace stdgate::call
