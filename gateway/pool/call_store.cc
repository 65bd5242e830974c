#include "gateway/pool/call_store.h"

#include <utility>

namespace stdgate {

namespace {

// The storage of a longer text is freed: one client's must not stay with all who come after it.
constexpr size_t kLongestKept = 256;

void clear(std::string& text) {
  if (text.capacity() > kLongestKept) {
    std::string().swap(text);  // an assignment would keep it
  } else {
    text.clear();
  }
}

}  // namespace

void ReturnCall::operator()(Call* call) const { store->give_back(std::unique_ptr<Call>(call)); }

CallPtr CallStore::take() {
  if (kept_.empty()) return {new Call, ReturnCall{this}};
  CallPtr call(kept_.back().release(), ReturnCall{this});
  kept_.pop_back();
  return call;
}

void CallStore::give_back(std::unique_ptr<Call> call) {
  if (kept_.size() == kMostKept) return;
  static_cast<CallFacts&>(*call) = {};
  for (std::string* text : {&call->id, &call->method_name, &call->tool_name, &call->trace_id,
                            &call->progress_token, &call->subscription}) {
    clear(*text);
  }
  kept_.push_back(std::move(call));
}

}  // namespace stdgate
