#include "metrics/traces/trace_exporter.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::traces {

namespace {

// SpanKind of trace.proto.
constexpr std::string_view kInternal = "1";
constexpr std::string_view kServer = "2";
constexpr std::string_view kClient = "3";
constexpr std::string_view kStatusError = R"({"code":2)";
// SpanFlags: beside the flags of the trace, whether the parent is of another process.
constexpr uint32_t kKnowsRemote = 0x100;
constexpr uint32_t kIsRemote = 0x200;
constexpr std::string_view kOther = "_other";

void append_attribute(std::string& out, std::string_view key, std::string_view value) {
  if (out.back() != '[') out += ',';
  out.append(R"({"key":")").append(key).append(R"(","value":{"stringValue":)");
  rpc::append_json_string(out, value);
  out.append("}}");
}

struct SpanShape {
  std::string_view kind;
  SpanId id = 0;
  SpanId parent = 0;  // 0: none
  bool is_parent_remote = false;
  WallTime begin{};
  WallTime end{};
};

void append_number(std::string& out, int64_t number) {
  std::array<char, 20> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), static_cast<size_t>(end - digits.data()));
}

void append_time(std::string& out, std::string_view key, WallTime time) {
  out.append(",\"").append(key).append("\":\"");
  append_number(out, std::max<int64_t>(0, time.time_since_epoch().count()));
  out += '"';
}

// All of a span but its name, attributes and status.
void begin_span(std::string& out, const TraceContext& trace, const SpanShape& span) {
  out.append(R"({"traceId":")").append(TraceIdText(trace).view());
  out.append(R"(","spanId":")").append(SpanIdText(span.id).view()).append("\"");
  if (span.parent != 0) {
    out.append(R"(,"parentSpanId":")").append(SpanIdText(span.parent).view()).append("\"");
  }
  if (!trace.state.empty()) {
    out.append(R"(,"traceState":)");
    rpc::append_json_string(out, trace.state);
  }
  const uint32_t remote = kKnowsRemote | (span.is_parent_remote ? kIsRemote : 0);
  out.append(R"(,"flags":)");
  append_number(out, remote | trace.flags);
  out.append(R"(,"kind":)").append(span.kind);
  append_time(out, "startTimeUnixNano", span.begin);
  append_time(out, "endTimeUnixNano", span.end);
}

// Method and tool. Names without a place in the tables are not told apart, as in metrics.
class SpanName {
 public:
  explicit SpanName(const CallRecord& call) {
    add(call.method == kOtherMethod ? kOther : cut_utf8(call.method_name, kMaxText));
    if (!call.tool) return;
    add(" ");
    add(*call.tool == kOtherTool ? kOther : cut_utf8(call.tool_name, kMaxText));
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  void add(std::string_view part) { size_ += part.copy(text_.data() + size_, part.size()); }

  std::array<char, 2 * kMaxText + 1> text_{};
  size_t size_ = 0;
};

bool is_failure(Outcome outcome) {
  return outcome != Outcome::ok() && outcome != Outcome::cancelled() &&
         outcome != Outcome::other_era() && !outcome.is_stop();
}

void append_status(std::string& out, const CallRecord& call) {
  if (!is_failure(call.outcome)) return;
  out.append(R"(,"status":)").append(kStatusError);
  if (!call.detail.empty()) {
    out.append(R"(,"message":)");
    rpc::append_json_string(out, cut_utf8(call.detail, kMaxDetail));
  }
  out += '}';
}

void append_names(std::string& out, const CallRecord& call, const SpanFacts& facts) {
  append_attribute(out, "rpc.system", "jsonrpc");
  const std::string_view method = cut_utf8(call.method_name, kMaxText);
  if (!method.empty()) {
    append_attribute(out, facts.is_mcp ? "mcp.method.name" : "rpc.method", method);
  }
  if (call.tool) {
    append_attribute(out, "gen_ai.operation.name", "execute_tool");
    append_attribute(out, "gen_ai.tool.name", cut_utf8(call.tool_name, kMaxText));
  }
  append_attribute(out, "stdgate.backend", facts.backend);
}

void append_call(std::string& out, const CallRecord& call, const SpanFacts& facts) {
  append_names(out, call, facts);
  std::string_view id = call.id;
  std::string scratch;
  if (id.size() >= 2 && id.front() == '"') {
    id = rpc::decode_string(id.substr(1, id.size() - 2), scratch);
  }
  // The conventions have renamed it; both are looked for.
  if (!id.empty()) {
    append_attribute(out, "rpc.jsonrpc.request_id", cut_utf8(id, kMaxText));
    append_attribute(out, "jsonrpc.request.id", cut_utf8(id, kMaxText));
  }
  append_attribute(out, "rpc.jsonrpc.version", "2.0");
  if (!call.revision.empty()) append_attribute(out, "mcp.protocol.version", call.revision);
  append_attribute(out, "stdgate.transport", transport_name(call.transport));
  append_attribute(out, "stdgate.outcome", call.outcome.name());
  if (is_failure(call.outcome)) append_attribute(out, "error.type", call.outcome.name());
}

}  // namespace

std::string document_head(const SpanSource& source) {
  std::string out = R"({"resourceSpans":[{"resource":{"attributes":[)";
  append_attribute(out, "service.name", source.service_name);
  append_attribute(out, "service.version", source.version);
  append_attribute(out, "service.instance.id", source.instance);
  out.append(R"(]},"scopeSpans":[{"scope":{"name":"stdgate","version":)");
  rpc::append_json_string(out, source.version);
  return out.append(R"(},"spans":[)");
}

void append_spans(std::string& out, const CallRecord& call, const SpanFacts& facts) {
  const TraceContext& trace = *call.trace;
  const WallTime sent = call.arrived_at + call.queued;
  const WallTime end = call.arrived_at + call.total;
  begin_span(out, trace,
             {kServer, facts.call, trace.parent(), trace.has_parent(), call.arrived_at, end});
  out.append(R"(,"name":)");
  rpc::append_json_string(out, SpanName(call).view());
  out.append(R"(,"attributes":[)");
  append_call(out, call, facts);
  out += ']';
  append_status(out, call);
  out.append("},");
  begin_span(out, trace, {kInternal, facts.queue, facts.call, false, call.arrived_at, sent});
  out.append(R"(,"name":"queue","attributes":[)");
  append_attribute(out, "stdgate.backend", facts.backend);
  out.append("]}");
  if (!call.reached_child) return;
  out += ',';
  begin_span(out, trace, {kClient, call.span, facts.call, false, sent, end});
  out.append(R"(,"name":"child","attributes":[)");
  append_names(out, call, facts);
  append_attribute(out, "network.transport", "pipe");
  if (is_failure(call.outcome)) append_attribute(out, "error.type", call.outcome.name());
  out += ']';
  append_status(out, call);
  out += '}';
}

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

namespace {

constexpr std::array<std::string_view, kSpanLossCount> kLossNames = {"queue_full", "refused",
                                                                     "unreachable", "stopped"};
constexpr size_t kMaxMessage = 256;  // bytes of what a collector says, in the log

std::vector<std::string> fields_of(const config::TracesConfig& config) {
  std::vector<std::string> fields;
  for (const auto& [name, value] : config.headers) {
    std::string& field = fields.emplace_back(name);
    field.append(": ").append(value);
  }
  return fields;
}

// OTLP, "Retryable Response Codes"; and whatever ended without an answer.
bool may_come_through_later(const fetch::Fetched& fetched) {
  switch (fetched.outcome) {
    case FetchOutcome::unreachable:
    case FetchOutcome::untrusted:
    case FetchOutcome::timeout:
      return true;
    case FetchOutcome::bad_status:
      return fetched.status == 429 || (fetched.status >= 502 && fetched.status <= 504);
    default:
      return false;
  }
}

// The collector's answer to a document that it has taken in part (ExportTracePartialSuccess).
struct PartialSuccess {
  uint64_t rejected = 0;
  std::string message;
};

// A 64-bit number is a text in JSON; some write a number.
uint64_t number_of(const simdjson::dom::element& value) {
  uint64_t number = 0;
  std::string_view text;
  if (value.get(number) == simdjson::SUCCESS) return number;
  if (value.get(text) == simdjson::SUCCESS) {
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

PartialSuccess partial_success_of(const std::string& body) {
  PartialSuccess partial;
  simdjson::dom::parser parser;
  simdjson::dom::element said;
  if (parser.parse(body).at_key("partialSuccess").get(said) != simdjson::SUCCESS) return partial;
  simdjson::dom::element member;
  if (said["rejectedSpans"].get(member) == simdjson::SUCCESS) partial.rejected = number_of(member);
  std::string_view message;
  if (said["errorMessage"].get(message) == simdjson::SUCCESS) {
    partial.message = cut_utf8(message, kMaxMessage);
  }
  return partial;
}

}  // namespace

std::string_view span_loss_name(SpanLoss loss) { return kLossNames.at(static_cast<size_t>(loss)); }

TraceExporter::TraceExporter(const config::TracesConfig& config, const SpanSource& source,
                             const ExportServices& services)
    : config_(config),
      fields_(fields_of(config)),
      services_(services),
      queue_(document_head(source), config.queue),
      timer_(services.timers, [this] { send(); }),
      finish_timer_(services.timers, [this] { give_up(); }) {}

std::string* TraceExporter::add(size_t spans) {
  std::string* const text = queue_.add(spans);
  if (text == nullptr) {
    lost(SpanLoss::queue_full) += spans;
    return nullptr;
  }
  const bool is_waiting_to_retry = tries_ > 0;
  if (fetch_ == nullptr && !is_waiting_to_retry) {
    if (queue_.has_whole_batch()) {
      wait(Duration{0});
    } else if (!timer_.armed()) {
      wait(kDelay);
    }
  }
  return text;
}

void TraceExporter::send() {
  if (queue_.empty() || fetch_ != nullptr) return;
  fetch::Request request;
  request.url = config_.endpoint;
  request.certificates = config_.certificates;
  request.body = queue_.front();
  request.fields = fields_;
  request.keeps_connection = true;
  fetch_ =
      services_.fetcher.start(request, [this](const fetch::Fetched& fetched) { on_sent(fetched); });
}

void TraceExporter::on_sent(const fetch::Fetched& fetched) {
  fetch_.reset();
  if (fetched.outcome == FetchOutcome::ok) {
    note_taken(fetched);
  } else {
    note_failure(fetched);
  }
  go_on();
}

void TraceExporter::note_taken(const fetch::Fetched& fetched) {
  const PartialSuccess partial = partial_success_of(fetched.body);
  const uint64_t rejected = std::min<uint64_t>(partial.rejected, queue_.front_size());
  counts_.exported += queue_.front_size() - rejected;
  lost(SpanLoss::refused) += rejected;
  if (std::exchange(is_failing_, rejected > 0) != (rejected > 0)) {
    if (rejected > 0) {
      services_.log.write(LogLevel::warn, "spans refused",
                          {{"url", config_.endpoint}, {"why", std::string_view(partial.message)}});
    } else {
      services_.log.write(LogLevel::info, "spans are sent again", {{"url", config_.endpoint}});
    }
  }
  tries_ = 0;
  queue_.pop();
}

void TraceExporter::note_failure(const fetch::Fetched& fetched) {
  if (!std::exchange(is_failing_, true)) {
    services_.log.write(LogLevel::warn, "spans not sent",
                        {{"url", config_.endpoint}, {"why", std::string_view(fetched.detail)}});
  }
  ++tries_;
  if (!may_come_through_later(fetched)) return drop_front(SpanLoss::refused);
  if (tries_ == kMaxTries) return drop_front(SpanLoss::unreachable);
  if (done_ == nullptr) wait(wait_after(fetched));
}

void TraceExporter::drop_front(SpanLoss loss) {
  lost(loss) += queue_.front_size();
  tries_ = 0;
  queue_.pop();
}

Duration TraceExporter::wait_after(const fetch::Fetched& fetched) const {
  const Duration usual = std::min<Duration>(kFirstWait * (1 << (tries_ - 1)), kLongestWait);
  int64_t seconds = 0;
  const std::string& text = fetched.retry_after;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return usual;
  const int64_t most = std::chrono::duration_cast<std::chrono::seconds>(kLongestWait).count();
  return std::max<Duration>(usual, std::chrono::seconds(std::clamp<int64_t>(seconds, 0, most)));
}

// After an answer.
void TraceExporter::go_on() {
  if (done_ != nullptr) {
    if (queue_.empty() || tries_ > 0) return give_up();
    return send();
  }
  if (queue_.empty() || tries_ > 0) return;
  wait(queue_.has_whole_batch() ? Duration{0} : kDelay);
}

void TraceExporter::finish(Duration patience, std::function<void()> done) {
  const bool is_first = done_ == nullptr;
  done_ = std::move(done);
  if (!is_first || queue_.empty() || patience <= Duration{0}) return give_up();
  finish_timer_.arm(services_.clock.now() + patience);
  timer_.disarm();
  send();
}

void TraceExporter::give_up() {
  fetch_.reset();
  timer_.disarm();
  finish_timer_.disarm();
  while (!queue_.empty()) drop_front(SpanLoss::stopped);
  if (const auto done = std::exchange(done_, nullptr)) done();
}

void TraceObserver::on_call_finished(const CallRecord& call) {
  if (call.span == 0 || call.trace == nullptr || !call.trace->is_sampled()) return;
  std::string* const text = exporter_.add(span_count(call));
  if (text == nullptr) return;
  append_spans(*text, call, {names_.of(call.backend), call.is_mcp, new_span(), new_span()});
}

SpanId TraceObserver::new_span() {
  SpanId span = 0;
  while (span == 0) span = random_();
  return span;
}

}  // namespace stdgate::traces
