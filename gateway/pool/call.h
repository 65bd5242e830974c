// Call: one request of a client, from its arrival to its answer; and the message that carries it.
//
// Owner: the queue of a pool, then the correlator of a child. Moves between them; the client is
// known by its origin only, a handle that goes stale when the client leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/pool/reply_sink.h"

namespace stdgate {

struct Call {
  std::string id;  // raw JSON, as the client sent it
  MethodId method = kOtherMethod;
  std::string method_name;  // kept only while `method` is kOtherMethod
  Origin origin;            // none: the gateway's own call (a handshake)
  Tag tag = 0;
  Transport transport = Transport::http;
  bool wants_events = false;
  bool cancelled = false;  // the child has been told; once is enough
  uint64_t connection = 0;
  std::string trace_id;
  TimePoint arrived{};
  TimePoint written{};  // to the child
  TimePoint deadline = TimePoint::max();
  size_t bytes_in = 0;
  std::string progress_token;  // raw JSON, as the client sent it; empty: none
};

// A message on its way to a child: its text and the places in it that the child sees differently.
// A place that does not exist has length zero.
struct Outgoing {
  struct Place {
    size_t offset = 0;
    size_t length = 0;
  };
  std::string_view text;
  Place id;
  Place progress_token;
  bool answered_by_handshake = false;  // the child's handshake result answers it, see Dialect
};

}  // namespace stdgate
