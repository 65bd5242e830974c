// ReplySink: where the answers of calls go. Implemented by transports (a connection, a stream).
//
// The core holds no pointer to a sink across turns. A call keeps a Caller, the handle under which
// the sink is registered in Callers, and a Tag, by which the sink recognizes its call.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "gateway/base/slot_map.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::session {

using Caller = Handle;
using Tag = uint64_t;

// One response. Its text is the concatenation head + id + tail; the views are valid during the
// call.
struct Reply {
  std::string_view head;
  std::string_view id;  // the client's own bytes
  std::string_view tail;
  std::optional<rpc::Fault> fault;  // set: the gateway's own answer, not a child's
  Duration retry_after{0};          // with fault: a hint for Retry-After, zero for none
  std::string_view scope{};         // with insufficient_scope: see FaultReport
  // The code of an error, if the transport tells it besides, as an HTTP status.
  std::optional<int64_t> error_code{};
  // The child's answer, under an id of its own, of which head and tail are parts. Null: the text is
  // of the gateway, or was changed.
  const rpc::Envelope* whole = nullptr;
  Outcome outcome = Outcome::ok();  // of `whole`
  [[nodiscard]] size_t size() const { return head.size() + id.size() + tail.size(); }
};

class ReplySink {
 public:
  virtual ~ReplySink() = default;
  // Called exactly once for each request that was given to the core, unless its caller was
  // withdrawn before. May be called before the call that handed the request over returns.
  virtual void on_reply(Tag tag, const Reply& reply) = 0;
  // A notification that belongs to the call, before its reply. Only if the request asked for it.
  virtual void on_event(Tag tag, std::string_view notification) = 0;
  // In place of on_reply(): the client itself has cancelled the call, in a protocol that does not
  // answer cancelled calls.
  virtual void on_cancelled(Tag tag) = 0;
};

// The sinks of all callers, by handle. Owner: the worker; outlives all sinks and pools.
// Limit: `capacity` sinks.
class Callers {
 public:
  explicit Callers(size_t capacity) : sinks_(capacity) {}

  // Nothing when the table is full.
  std::optional<Caller> add(ReplySink& sink) {
    const auto caller = sinks_.acquire();
    if (caller) *sinks_.find(*caller) = &sink;
    return caller;
  }
  void remove(Caller caller) { sinks_.release(caller); }
  void raise_capacity(size_t capacity) { sinks_.raise_capacity(capacity); }
  [[nodiscard]] size_t size() const { return sinks_.size(); }
  [[nodiscard]] size_t capacity() const { return sinks_.capacity(); }
  [[nodiscard]] bool is_full() const { return size() >= capacity(); }
  ReplySink* find(Caller caller) {
    ReplySink** sink = sinks_.find(caller);
    return sink == nullptr ? nullptr : *sink;
  }

  // The caller of the gateway's own calls. It has no sink, and no entry in the table has this
  // index.
  static constexpr Caller kGateway{Handle::kNone - 1, 0};

 private:
  SlotMap<ReplySink*> sinks_;
};

// The place of one sink in Callers. The place is given back with this object at the latest. Owner:
// the object that the sink belongs to, which first has its calls withdrawn.
class CallerSlot {
 public:
  CallerSlot() = default;
  ~CallerSlot() { release(); }
  CallerSlot(const CallerSlot&) = delete;
  CallerSlot& operator=(const CallerSlot&) = delete;

  // Only while is_none(). False: the table is full.
  bool take(Callers& callers, ReplySink& sink) {
    caller_ = callers.add(sink).value_or(Caller());
    callers_ = &callers;
    return !is_none();
  }
  void release() {
    if (!is_none()) callers_->remove(std::exchange(caller_, Caller()));
  }
  [[nodiscard]] bool is_none() const { return caller_.is_none(); }
  [[nodiscard]] Caller caller() const { return caller_; }

 private:
  Callers* callers_ = nullptr;
  Caller caller_;
};

}  // namespace stdgate::session
