#include "metrics/traces/span_text.h"

#include <algorithm>
#include <array>
#include <charconv>

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

}  // namespace stdgate::traces
