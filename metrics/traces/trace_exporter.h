// Spans of calls on their way to a collector: observed, queued, sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/base/random.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "metrics/observers.h"
#include "transports/fetch/fetcher.h"

namespace stdgate::traces {

// --- The spans of a finished call as OTLP writes them in JSON (opentelemetry-proto, trace.proto
// with the JSON mapping of the OTLP specification: ids in hex, 64-bit numbers as texts)
//
// Pure functions. Attributes follow OpenTelemetry's conventions for MCP and RPC; what they have no
// word for begins with "stdgate.". Limits: kMaxText bytes of what clients write.

inline constexpr size_t kMaxText = 128;    // of a name or an id
inline constexpr size_t kMaxDetail = 256;  // of what went wrong

// The attributes that all spans of a process share.
struct SpanSource {
  std::string service_name;
  std::string version;
  std::string instance;  // tells processes of one service apart
};

// A document up to its first span.
std::string document_head(const SpanSource& source);

// Facts of a span that its record lacks.
struct SpanFacts {
  std::string_view backend;
  bool is_mcp = false;
  SpanId call = 0;   // of the whole call
  SpanId queue = 0;  // of its wait for a child
};

// How many spans append_spans() appends.
inline size_t span_count(const CallRecord& call) { return call.reached_child ? 3 : 2; }

// Appends the spans of a call with a trace and a span: the call as a whole, and below it its wait
// for a child and, if it reached one, its time there.
void append_spans(std::string& out, const CallRecord& call, const SpanFacts& facts);

// SpanQueue: spans that wait to be sent, as the documents that they are sent in (OTLP's JSON).
//
// Job: collect spans in batches of kMaxBatch at most, the oldest first. The oldest one may be on
// its way: from front() to pop() nothing is added to it. Owner: the TraceExporter. Limit: `max`
// spans, those on their way included.
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

// Why spans were not sent.
enum class SpanLoss : uint8_t {
  queue_full,
  refused,      // by the collector
  unreachable,  // it did not take them in kMaxTries
  stopped,      // the gateway ended first
};
inline constexpr size_t kSpanLossCount = static_cast<size_t>(SpanLoss::stopped) + 1;
std::string_view span_loss_name(SpanLoss loss);

// For metrics.
struct SpanCounts {
  uint64_t exported = 0;
  std::array<uint64_t, kSpanLossCount> dropped{};

  [[nodiscard]] uint64_t lost(SpanLoss loss) const { return dropped[static_cast<size_t>(loss)]; }
};

struct ExportServices {
  const Clock& clock;
  TimerQueue& timers;
  Log& log;
  fetch::Fetcher& fetcher;
};

// TraceExporter: sends spans to a collector, by OTLP over HTTP with JSON.
//
// Job: a POST at a time, kDelay after a first span or when a batch is whole. A document that does
// not reach the collector, or that it is too busy for, is sent again after a growing wait,
// kMaxTries times. A document that it refuses is dropped. The first failure and the first success
// after it are logged. Nothing of it touches a call: what the queue has no room for is dropped too.
// Owner: the worker, on whose loop everything is called. Limits: config.queue spans; one answer
// (Fetcher).
class TraceExporter {
 public:
  static constexpr Duration kDelay = std::chrono::seconds(2);
  static constexpr Duration kFirstWait = std::chrono::seconds(1);  // then doubled
  static constexpr Duration kLongestWait = std::chrono::seconds(30);
  static constexpr int kMaxTries = 6;

  TraceExporter(const config::TracesConfig& config, const SpanSource& source,
                const ExportServices& services);
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;

  // Where the text of so many spans is to be appended at once. Null: they are lost.
  std::string* add(size_t spans);

  // Sends what waits, once and for at most `patience`, then calls `done`; what is added meanwhile
  // may be lost. Another time: gives up at once.
  void finish(Duration patience, std::function<void()> done);

  [[nodiscard]] const config::TracesConfig& config() const { return config_; }
  [[nodiscard]] const SpanCounts& counts() const { return counts_; }
  [[nodiscard]] size_t waiting() const { return queue_.size(); }

 private:
  void send();
  void on_sent(const fetch::Fetched& fetched);
  void note_taken(const fetch::Fetched& fetched);
  void note_failure(const fetch::Fetched& fetched);
  void drop_front(SpanLoss loss);
  void go_on();
  void give_up();
  void wait(Duration time) { timer_.arm(services_.clock.now() + time); }
  [[nodiscard]] Duration wait_after(const fetch::Fetched& fetched) const;
  uint64_t& lost(SpanLoss loss) { return counts_.dropped[static_cast<size_t>(loss)]; }

  const config::TracesConfig config_;
  const std::vector<std::string> fields_;  // of each request
  const ExportServices services_;
  SpanQueue queue_;
  SpanCounts counts_;
  std::unique_ptr<fetch::Fetch> fetch_;  // not null: the first document is on its way
  int tries_ = 0;                        // of the first document that have failed
  bool is_failing_ = false;              // which has been logged
  Timer timer_;                          // to send
  std::function<void()> done_;           // not null: it is to finish
  Timer finish_timer_;
};

// TraceObserver: writes the spans of each finished call that is recorded. TraceFilter has decided
// that when the call arrived.
//
// Generates the ids of spans that no other code names. Owner: the worker.
class TraceObserver final : public Observer {
 public:
  TraceObserver(Random& random, TraceExporter& exporter) : random_(random), exporter_(exporter) {}

  void on_backend(BackendId backend, std::string_view name) override { names_.add(backend, name); }
  void on_call_finished(const CallRecord& call) override;

 private:
  SpanId new_span();

  BackendNames names_;
  Random& random_;
  TraceExporter& exporter_;
};

}  // namespace stdgate::traces
