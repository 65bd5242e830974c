#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <span>

#include "gateway/config/config.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"
#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_check.h"
#include "metrics/logs/access_log.h"
#include "metrics/logs/log_writer.h"
#include "metrics/prometheus/metrics_store.h"
#include "tests/bench/micro/case.h"
#include "tests/bench/micro/echo_core.h"
#include "transports/net/file_descriptor.h"
#include "transports/websocket/message_reader.h"

namespace stdgate::bench {

// gateway/rpc: the envelope scan by size, both framers, and the correlator.

namespace {

constexpr size_t kMaxMessage = 16 << 20;
constexpr size_t kChunk = 64 << 10;  // size of a read

Case envelope(const std::string& name, const std::string& text) {
  return {"envelope/" + name, text.size(), [text]() -> Step {
            return [scanned = std::string(text),
                    parser = rpc::EnvelopeParser(rpc::EnvelopeLimits{})]() mutable {
              const auto document = parser.parse(scanned);
              if (!document || !document->messages[0].ok()) std::abort();
            };
          }};
}

std::string framed(rpc::Framing framing, const std::string& text) {
  std::string scratch;
  const rpc::FrameEnds ends = rpc::frame_ends(framing, text.size(), scratch);
  return std::string(ends.head) + text + std::string(ends.tail);
}

struct FrameCounter final : rpc::FrameSink {
  void on_frame(std::span<char> /*message*/) override { ++frames; }
  void on_oversized_frame(const rpc::OversizedFrame& /*frame*/) override { std::abort(); }
  void on_broken_framing(const char* /*reason*/) override { std::abort(); }
  size_t frames = 0;
};

// Feeds `stream`, which consists of whole messages, in pieces of kChunk, again and again.
Case framer(const std::string& name, rpc::Framing framing, const std::string& stream) {
  return {"framer/" + name, stream.size(), [framing, stream]() -> Step {
            auto storages = std::make_shared<StoragePool>();
            return [text = std::string(stream), sink = FrameCounter(), storages,
                    framer = std::shared_ptr<rpc::Framer>(
                        rpc::make_framer(framing, kMaxMessage, *storages))]() mutable {
              for (size_t at = 0; at < text.size(); at += kChunk) {
                framer->feed(std::span(text).subspan(at, std::min(kChunk, text.size() - at)), sink);
              }
              keep(sink);
            };
          }};
}

std::string many_small(rpc::Framing framing) {
  const std::string message = framed(framing, echo_request_of(100));
  std::string stream;
  while (stream.size() + message.size() <= kChunk) stream += message;
  return stream;
}

// Opens an entry and closes the oldest, while `in_flight` entries are open.
Case correlator(size_t in_flight) {
  return {"correlator/" + std::to_string(in_flight), 0, [in_flight]() -> Step {
            auto calls = std::make_shared<rpc::Correlator<uint64_t>>(in_flight);
            for (size_t i = 1; i < in_flight; ++i) calls->open(i);
            return [calls] {
              const auto id = calls->open(7);
              if (calls->find(*id) == nullptr) std::abort();
              keep(calls->close(*calls->oldest()));
            };
          }};
}

}  // namespace

std::vector<Case> rpc_cases() {
  std::vector<Case> cases = {
      envelope("100B", echo_request_of(100)),
      envelope("1kB", echo_request_of(1'000)),
      envelope("10kB", echo_request_of(10'000)),
      envelope("1MB", echo_request_of(1'000'000)),
      envelope("10kB-escapes", echo_request_of(10'000, R"(a\n\"b\u00e9)")),
      envelope("10kB-utf8", echo_request_of(10'000, "a\u00e9\u20ac")),
  };
  for (const rpc::Framing framing : {rpc::Framing::newline, rpc::Framing::content_length}) {
    const std::string name = framing == rpc::Framing::newline ? "newline" : "length";
    cases.push_back(framer(name + "-100B", framing, many_small(framing)));
    cases.push_back(framer(name + "-1MB", framing, framed(framing, echo_request_of(1'000'000))));
  }
  cases.push_back(correlator(1));
  cases.push_back(correlator(256));
  return cases;
}

// gateway/schema: the check of arguments.

namespace {

// A schema with ten members and a text with the same members. `more`: further keywords of the
// schema.
Case ten_members(const std::string& name, const std::string& member, const std::string& value,
                 const std::string& more = "") {
  std::string schema = R"({"type":"object","additionalProperties":false,"required":["a"],)";
  std::string text;
  schema += more + R"("properties":{)";
  for (char key = 'a'; key < 'k'; ++key) {
    schema.append(key == 'a' ? "\"" : ",\"").append(1, key).append("\":").append(member);
    text.append(key == 'a' ? "{\"" : ",\"").append(1, key).append("\":").append(value);
  }
  schema += "}}";
  text += "}";
  return {"check/" + name, text.size(), [schema, text]() -> Step {
            auto compiled =
                std::make_shared<schema::JsonSchema>(*schema::JsonSchema::compile(schema));
            auto check = std::make_shared<schema::SchemaCheck>();
            return [compiled, check, text] {
              if (check->check(*compiled, text) != schema::Fit::fits) std::abort();
              if (check->repeated_key()) std::abort();
            };
          }};
}

}  // namespace

std::vector<Case> schema_cases() {
  return {ten_members("ten-integers", R"({"type":"integer"})", "12345"),
          ten_members("ten-bounds", R"({"type":"integer","minimum":0,"maximum":99999})", "12345"),
          ten_members("ten-texts", R"({"type":"string","maxLength":9})", R"("abcde")"),
          // "not" makes the check need more than one pass (plain_check.h).
          ten_members("ten-integers-whole", R"({"type":"integer"})", "12345", R"("not":false,)")};
}

// metrics: the cost of a call's end for each observer.

namespace {

// The record of a call that took 250 us.
CallRecord finished_call() {
  CallRecord call;
  call.method = 1;
  call.method_name = "echo";
  call.total = std::chrono::microseconds(250);
  call.child = std::chrono::microseconds(200);
  call.reached_child = true;
  call.id = "1";
  call.connection = 12345;
  call.bytes_in = call.bytes_out = 100;
  return call;
}

Case counted_call() {
  return {"metrics/call", 0, []() -> Step {
            config::MetricsConfig config;
            config.buckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                              0.5,   1,      2.5,   5,    10,    30,   60};
            auto observer = std::make_shared<metrics::MetricsObserver>(config);
            observer->on_backend(0, "demo");
            observer->on_method(0, 1, "echo");
            return [observer] {
              observer->on_call_started(0);
              observer->on_call_finished(finished_call());
            };
          }};
}

// A log whose lines are discarded, some hundred at a time.
class LogToNobody final : public logs::LineSink {
 public:
  explicit LogToNobody(config::LogFormat format) : writer_(nobody_.get(), LogLevel::info, format) {}
  [[nodiscard]] bool enabled(LogLevel level) const override { return writer_.enabled(level); }
  [[nodiscard]] config::LogFormat format() const override { return writer_.format(); }
  void write_rendered(LogLevel level, std::string_view event, std::string_view fields) override {
    writer_.write_rendered(level, event, fields);
    if (writer_.unsent_bytes() > kBatch) writer_.flush();
  }

 private:
  static constexpr size_t kBatch = 64 << 10;
  net::FileDescriptor nobody_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  logs::LogWriter writer_;
};

Case logged_call(const std::string& name, config::LogFormat format) {
  return {"log/call-" + name, 0, [format]() -> Step {
            auto log = std::make_shared<LogToNobody>(format);
            auto observer = std::make_shared<logs::AccessLog>(*log);
            observer->on_backend(0, "demo");
            return [log, observer] { observer->on_call_finished(finished_call()); };
          }};
}

}  // namespace

std::vector<Case> metrics_cases() {
  return {counted_call(), logged_call("text", config::LogFormat::text),
          logged_call("json", config::LogFormat::json)};
}

// transports/websocket: reading and writing frames, and checking UTF-8.

namespace {

struct MessageCounter final : websocket::MessageSink {
  bool on_message(std::span<char> /*text*/) override {
    ++messages;
    return true;
  }
  bool on_ping(std::string_view /*payload*/) override { return true; }
  void on_close(websocket::CloseCode /*code*/, std::string_view /*reason*/) override {}
  size_t messages = 0;
};

// Masked with zeros, because reading unmasks the frame in place and it is read again.
std::string client_frame(std::string_view payload) {
  std::string frame(websocket::FrameHead(websocket::Opcode::text, payload.size()).view());
  frame[1] = static_cast<char>(frame[1] | 0x80);
  return frame.append(4, '\0').append(payload);
}

Case read_message(const std::string& name, size_t size, size_t piece) {
  return {"websocket/read-" + name, size, [size, piece]() -> Step {
            auto storages = std::make_shared<StoragePool>();
            auto reader = std::make_shared<websocket::MessageReader>(*storages, size);
            return [frame = client_frame(echo_request_of(size)), sink = MessageCounter(), storages,
                    reader, piece]() mutable {
              for (size_t at = 0; at < frame.size(); at += piece) {
                const auto part = std::span(frame).subspan(at, std::min(piece, frame.size() - at));
                if (!reader->feed(part, sink)) std::abort();
              }
              keep(sink);
            };
          }};
}

Case write_head(const std::string& name, size_t size) {
  return {"websocket/head-" + name, 0, [size]() -> Step {
            return [size] {
              size_t length = size;
              asm volatile("" : "+r"(length));
              keep(websocket::FrameHead(websocket::Opcode::text, length));
            };
          }};
}

Case judge_utf8(const std::string& name, std::string_view filling) {
  const std::string text = echo_params(10'000, filling);
  return {"utf8/" + name, text.size(), [text]() -> Step {
            return [text] {
              websocket::Utf8Validator validator;
              if (!validator.feed(text) || !validator.complete()) std::abort();
            };
          }};
}

}  // namespace

std::vector<Case> websocket_cases() {
  return {
      read_message("100B", 100, SIZE_MAX),
      read_message("1MB", 1'000'000, SIZE_MAX),
      read_message("1MB-in-pieces", 1'000'000, 64 << 10),
      write_head("100B", 100),
      write_head("1MB", 1'000'000),
      judge_utf8("10kB-ascii", "x"),
      judge_utf8("10kB-mixed", "a\u00e9\u20ac"),
  };
}

}  // namespace stdgate::bench
