// ClientIntent: what a client's message asks for, as far as its protocol defines it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/call/session_memo.h"
#include "gateway/session/log_verbosity.h"

namespace stdgate::call {

// What a client's message asks for, as far as the protocol defines it.
struct ClientIntent {
  enum class Kind : uint8_t {
    forward,
    cancel,        // a notification that cancels the call with the raw id `cancelled_id`
    handshake,     // a request whose answer the child gave to the gateway's own handshake
    swallow,       // a notification that the gateway has sent to the child itself already
    subscribe,     // a request to be told of `key` by a shared child
    unsubscribe,   // and not any more
    set_severity,  // a request for log messages of a shared child from `severity` on
  };
  Kind kind = Kind::forward;
  std::string_view cancelled_id;
  std::string_view progress_token;  // raw value inside of params; empty: none
  std::string_view tool;  // that a request calls, as spelled between its quotes; empty: none
  // The subscribed key, as spelled between its quotes, and the result (raw JSON) if the gateway
  // answers itself, which lives as long as the dialect.
  std::string_view key;
  std::string_view result;
  std::optional<session::Severity> severity;  // nothing: an unknown one was asked for
  // The part of the message that a session's next child would have to be told again: see
  // SessionMemory. `memo_text` is raw JSON; for subscriptions and levels, the text as spelled
  // between the quotes.
  SessionMemo memo = SessionMemo::none;
  std::string_view memo_text;
  // This request is the first that a session's own child has to answer: see Dialect::greeting().
  bool greets = false;
  // The answer to this request says what the session's own child is: see Dialect::facts().
  bool introduces = false;
  // Of a client of the modern era.
  bool only_of_legacy = false;  // a handshake that a modern child is asked for all the same
  bool may_be_asked = false;    // its client can be asked something while it waits
  bool may_need_input = false;  // it may be answered with what is to be asked
  bool resumes = false;         // a former call, which has needed input: see InputDialect
  bool listens = false;         // it stays open, and its events are its purpose
  uint8_t lists = 0;            // lists whose changes it wants: bits of the dialect's own
  // A value inside of the message that is replaced for the child; empty: none.
  std::string_view replaced;
  std::string_view replacement;  // lives as long as the dialect
};

}  // namespace stdgate::call
