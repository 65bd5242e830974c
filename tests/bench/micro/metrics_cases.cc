// metrics: what it costs that a call has ended, for each observer.
#include <fcntl.h>
#include <unistd.h>

#include <memory>

#include "gateway/config/config.h"
#include "metrics/logs/access_log.h"
#include "metrics/logs/log_writer.h"
#include "metrics/prometheus/metrics_store.h"
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

// Written to nobody, some hundred lines at once.
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

}  // namespace stdgate::bench
