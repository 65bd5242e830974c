// ReplySink: where the answers of calls go. Implemented by transports (a connection, a stream).
//
// The core holds no pointer to a sink across turns: a call keeps an Origin, the handle under which
// the sink is registered in Origins, and a Tag that the sink chose to know its call again.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/base/slot_map.h"
#include "gateway/base/time.h"
#include "gateway/rpc/fault.h"

namespace stdgate {

using Origin = Handle;
using Tag = uint64_t;

// One response. Its text is the concatenation head + id + tail; the views are valid during the
// call.
struct Reply {
  std::string_view head;
  std::string_view id;  // the client's own bytes
  std::string_view tail;
  std::optional<Fault> fault;  // set: the gateway's own answer, not a child's
  Duration retry_after{0};     // with fault: a hint for Retry-After, zero for none
  [[nodiscard]] size_t size() const { return head.size() + id.size() + tail.size(); }
};

class ReplySink {
 public:
  virtual ~ReplySink() = default;
  // Exactly once per request given to the core, unless its origin was withdrawn before. May be
  // called before the call that handed the request over returns.
  virtual void on_reply(Tag tag, const Reply& reply) = 0;
  // A notification that belongs to the call, before its reply. Only when the request asked for it.
  virtual void on_event(Tag tag, std::string_view notification) = 0;
  // In place of a reply: the client itself has cancelled the call, and the protocol has it that a
  // cancelled call is not answered (MCP).
  virtual void on_cancelled(Tag tag) = 0;
};

// The sinks that calls may come from. Owned by the composition root, outlives all sinks and pools.
class Origins {
 public:
  explicit Origins(size_t capacity) : sinks_(capacity) {}

  // Nothing when the table is full.
  std::optional<Origin> add(ReplySink& sink) {
    const auto origin = sinks_.acquire();
    if (origin) *sinks_.find(*origin) = &sink;
    return origin;
  }
  void remove(Origin origin) { sinks_.release(origin); }
  ReplySink* find(Origin origin) {
    ReplySink** sink = sinks_.find(origin);
    return sink == nullptr ? nullptr : *sink;
  }

 private:
  SlotMap<ReplySink*> sinks_;
};

}  // namespace stdgate
