// dispatch(): passes the messages of a document to an upstream, one by one and in order. The one
// place where transports and sessions hand messages over.
#pragma once

#include <cstdint>

#include "gateway/backend/upstream.h"

namespace stdgate::backend {

// The tags of a document's calls: consecutive ones, beginning with the context's, or the context's
// tag for all.
enum class Tags : uint8_t { one_each, shared };

// Calls `expect(message, context)` before each message, because its answer may come at once, and
// `leave_out()` after a message that will get no answer. False: no message was taken, for lack of
// room.
template <class Expect, class LeaveOut>
bool dispatch(Upstream& upstream, const rpc::Document& document, call::CallContext context,
              Tags tags, Expect&& expect, LeaveOut&& leave_out) {
  bool some_taken = false;
  for (const rpc::ParsedMessage& message : document.messages) {
    expect(message, context);
    const Admission admission = upstream.accept(message, context);
    if (admission != Admission::answered_by_reply) leave_out();
    some_taken = some_taken || admission != Admission::refused_overloaded;
    if (tags == Tags::one_each) ++context.tag;
  }
  return some_taken;
}

}  // namespace stdgate::backend
