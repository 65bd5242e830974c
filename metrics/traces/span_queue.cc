#include "metrics/traces/span_queue.h"

#include <utility>

#include "gateway/base/check.h"

namespace stdgate::traces {

namespace {

// Closes spans, scope, its list, resource and its list.
constexpr std::string_view kTail = "]}]}]}";

}  // namespace

std::string* SpanQueue::add(size_t spans) {
  if (size_ + spans > max_) return nullptr;
  const bool fits =
      !batches_.empty() && !batches_.back().is_closed && batches_.back().spans + spans <= kMaxBatch;
  if (!fits) {
    Batch& fresh = batches_.emplace_back();
    fresh.text = std::exchange(spare_, {});
    fresh.text = head_;
  } else {
    batches_.back().text += ',';
  }
  batches_.back().spans += spans;
  size_ += spans;
  return &batches_.back().text;
}

std::string_view SpanQueue::front() {
  STDGATE_CHECK(!batches_.empty());
  Batch& batch = batches_.front();
  if (!std::exchange(batch.is_closed, true)) batch.text += kTail;
  return batch.text;
}

void SpanQueue::pop() {
  STDGATE_CHECK(!batches_.empty());
  size_ -= batches_.front().spans;
  spare_ = std::move(batches_.front().text);
  batches_.pop_front();
}

}  // namespace stdgate::traces
