// metrics: what it costs that a call has ended, for each observer.
#include <fcntl.h>
#include <unistd.h>

#include <memory>

#include "gateway/config/config.h"
#include "metrics/access_log.h"
#include "metrics/log_writer.h"
#include "metrics/metrics_observer.h"
#include "tests/bench/micro/case.h"
#include "transports/net/file_descriptor.h"

namespace stdgate::bench {

namespace {

// As of a call that took 250 us.
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
            MetricsConfig config;
            config.buckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                              0.5,   1,      2.5,   5,    10,    30,   60};
            auto observer = std::make_shared<MetricsObserver>(config);
            observer->on_backend(0, "demo");
            observer->on_method(0, 1, "echo");
            return [observer] {
              observer->on_call_started(0);
              observer->on_call_finished(finished_call());
            };
          }};
}

// Written to nobody, some hundred lines at once.
class LogToNobody final : public LineSink {
 public:
  explicit LogToNobody(LogFormat format) : writer_(nobody_.get(), LogLevel::info, format) {}
  [[nodiscard]] bool enabled(LogLevel level) const override { return writer_.enabled(level); }
  [[nodiscard]] LogFormat format() const override { return writer_.format(); }
  void write_rendered(LogLevel level, std::string_view event, std::string_view fields) override {
    writer_.write_rendered(level, event, fields);
    if (writer_.unsent_bytes() > kBatch) writer_.flush();
  }

 private:
  static constexpr size_t kBatch = 64 << 10;
  FileDescriptor nobody_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  LogWriter writer_;
};

Case logged_call(const std::string& name, LogFormat format) {
  return {"log/call-" + name, 0, [format]() -> Step {
            auto log = std::make_shared<LogToNobody>(format);
            auto observer = std::make_shared<AccessLog>(*log);
            observer->on_backend(0, "demo");
            return [log, observer] { observer->on_call_finished(finished_call()); };
          }};
}

}  // namespace

std::vector<Case> metrics_cases() {
  return {counted_call(), logged_call("text", LogFormat::text),
          logged_call("json", LogFormat::json)};
}

}  // namespace stdgate::bench
