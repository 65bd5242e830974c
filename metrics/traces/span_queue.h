// SpanQueue: spans that wait to be sent, as the documents that they are sent in (OTLP's JSON).
//
// Job: collect spans in batches of kMaxBatch at most, the oldest first. The oldest one may be on
// its way: from front() to pop() nothing is added to it. Owner: the TraceExporter. Limit: `max`
// spans, those on their way included.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace stdgate::traces {

class SpanQueue {
 public:
  static constexpr size_t kMaxBatch = 512;

  // `head` is what stands in front of the spans of each document.
  SpanQueue(std::string head, size_t max) : head_(std::move(head)), max_(max) {}

  // Where the text of so many spans is to be appended, separated by commas. Null: there is no room.
  std::string* add(size_t spans);

  // The document of the oldest spans. Only while not empty().
  std::string_view front();
  // So many spans are in it.
  [[nodiscard]] size_t front_size() const { return batches_.front().spans; }
  void pop();

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }
  // A document is complete: no more spans will be added to it.
  [[nodiscard]] bool has_whole_batch() const {
    return batches_.size() > 1 || (!empty() && batches_.front().spans >= kMaxBatch);
  }

 private:
  struct Batch {
    std::string text;
    size_t spans = 0;
    bool is_closed = false;
  };

  const std::string head_;
  const size_t max_;
  std::deque<Batch> batches_;
  std::string spare_;  // the storage of a former batch
  size_t size_ = 0;    // spans
};

}  // namespace stdgate::traces
