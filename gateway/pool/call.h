// Call: one request of a client, from its arrival to its answer; and the message that carries it.
//
// Owner: the queue of a pool, then the correlator of a child. Moves between them as a CallPtr (see
// CallStore); the client is known by its origin only, a handle that goes stale when the client
// leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/session/session_sink.h"

namespace stdgate {

struct CallFacts {
  MethodId method = kOtherMethod;
  std::optional<ToolId> tool;  // set: it calls a tool
  Origin origin;               // none: the gateway's own call (a handshake)
  SessionId session;           // none: the call stands alone
  Tag tag = 0;
  Transport transport = Transport::http;
  bool wants_events = false;
  bool cancelled = false;       // the child has been told; once is enough
  bool cancel_on_send = false;  // its client has cancelled it before it was sent
  uint64_t connection = 0;
  TimePoint arrived{};
  TimePoint written{};  // to the child
  TimePoint deadline = TimePoint::max();
  size_t bytes_in = 0;
  uint64_t child = 0;  // the number of the one that it was written to; 0: of none yet
};

struct Call : CallFacts {
  std::string id;              // raw JSON, as the client sent it
  std::string method_name;     // kept only while `method` is kOtherMethod
  std::string tool_name;       // kept only while `tool` is kOtherTool
  std::string trace_id;        // empty: none
  std::string progress_token;  // raw JSON, as the client sent it; empty: none
  std::string subscription;    // the key that its session subscribes to with it; empty: none
};

// A message on its way to a child: its text and the places in it that the child sees differently.
// A place that does not exist has length zero.
struct Outgoing {
  struct Place {
    size_t offset = 0;
    size_t length = 0;
  };
  std::string_view text;
  Place id;              // the wire id stands there for the child
  Place progress_token;  // the same number
  Place replaced;
  std::string_view replacement;        // stands there instead; outlives the message
  bool answered_by_handshake = false;  // the child's handshake result answers it, see Dialect
  uint64_t child = 0;                  // the number of the one that it is for; 0: any
};

}  // namespace stdgate
