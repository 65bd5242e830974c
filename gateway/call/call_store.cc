#include "gateway/call/call_store.h"

#include <type_traits>
#include <utility>

namespace stdgate::call {

namespace {

constexpr size_t kMaxKeptLength = 256;
// Copied as a whole: quicker than one member after another.
constexpr CallFacts kNoFacts;
static_assert(std::is_trivially_copyable_v<CallFacts>);

}  // namespace

void clear_text(std::string& text) {
  if (text.empty()) return;
  if (text.capacity() > kMaxKeptLength) {
    std::string().swap(text);  // an assignment would keep the storage
  } else {
    text.clear();
  }
}

void ReturnCall::operator()(Call* call) const {
  call->store->give_back(std::unique_ptr<Call>(call));
}

CallPtr CallStore::take() {
  if (kept_.empty()) return CallPtr(new Call(*this, layout_));
  CallPtr call(kept_.back().release());
  kept_.pop_back();
  return call;
}

void CallStore::give_back(std::unique_ptr<Call> call) {
  index_.remove(*call);
  deadlines_.remove(*call);
  if (kept_.size() == kMaxKept) return;
  static_cast<CallFacts&>(*call) = kNoFacts;
  if (call->held.account() != nullptr) call->held = {};
  for (std::string* text : {&call->id, &call->principal, &call->progress_token, &call->memo_text,
                            &call->request, &call->identity}) {
    clear_text(*text);
  }
  call->slots.clear();
  kept_.push_back(std::move(call));
}

}  // namespace stdgate::call
