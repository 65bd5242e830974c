#include "tests/bench/load_report.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "gateway/rpc/json_string.h"

namespace stdgate::bench {
namespace {

// An object that is written member by member.
class JsonObject {
 public:
  JsonObject& add(std::string_view name, uint64_t value) {
    return raw(name, std::to_string(value));
  }
  JsonObject& add(std::string_view name, double value) {
    std::array<char, 32> digits;
    // JSON knows no infinity.
    if (!std::isfinite(value)) value = 0;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                   std::chars_format::fixed, 3);
    return raw(name, {digits.data(), static_cast<size_t>(end.ptr - digits.data())});
  }
  JsonObject& add(std::string_view name, std::string_view value) {
    std::string text;
    append_json_string(text, value);
    return raw(name, text);
  }
  JsonObject& raw(std::string_view name, std::string_view value) {
    text_ += text_.empty() ? '{' : ',';
    append_json_string(text_, name);
    text_.append(":").append(value);
    return *this;
  }
  [[nodiscard]] std::string text() const { return text_.empty() ? "{}" : text_ + "}"; }

 private:
  std::string text_;
};

double microseconds(uint64_t value_ns) { return static_cast<double>(value_ns) / 1e3; }

std::string latency_of(const LatencyHistogram& latency) {
  return JsonObject()
      .add("p50", microseconds(latency.quantile_ns(0.5)))
      .add("p90", microseconds(latency.quantile_ns(0.9)))
      .add("p99", microseconds(latency.quantile_ns(0.99)))
      .add("max", microseconds(latency.max_ns()))
      .text();
}

std::string usage_text(const ProcessUsage& usage, const ProcessUsage& first, uint64_t calls) {
  const double per_call = calls == 0 ? 0 : 1e6 / static_cast<double>(calls);
  return JsonObject()
      .add("user_s", usage.user_s)
      .add("system_s", usage.system_s)
      .add("user_us_per_call", usage.user_s * per_call)
      .add("system_us_per_call", usage.system_s * per_call)
      .add("resident_bytes", uint64_t{usage.resident_bytes})
      .add("resident_bytes_before", uint64_t{first.resident_bytes})
      .add("peak_resident_bytes", uint64_t{usage.peak_resident_bytes})
      .add("processes", uint64_t{usage.processes})
      .text();
}

std::string kill_of(const Tally& tally) {
  const auto after = [&tally](Instant when) {
    return when <= tally.killed ? 0.0 : static_cast<double>(when - tally.killed) / 1e6;
  };
  return JsonObject()
      .add("in_flight", tally.open_at_kill)
      .add("in_flight_answered_ms", after(tally.last_old_answer))
      .add("first_result_ms", after(tally.first_new_result))
      .text();
}

}  // namespace

std::string report_line(const LoadOptions& options, const LoadResult& result) {
  const Tally& tally = result.tally;
  JsonObject line;
  line.add("clients", uint64_t{result.clients_ready})
      .add("calls", tally.calls)
      .add("errors", tally.errors)
      .add("unanswered", result.unanswered);
  if (tally.errors > 0) line.add("first_error", tally.first_error);
  JsonObject faults;
  for (const auto& [code, count] : tally.faults) faults.add(std::to_string(code), count);
  line.raw("faults", faults.text())
      .add("seconds", result.seconds)
      .add("calls_per_second", static_cast<double>(tally.calls) / result.seconds)
      .add("bytes_per_second", static_cast<double>(tally.bytes) / result.seconds)
      .raw("latency_us", latency_of(tally.latency))
      .raw("generator", JsonObject()
                            .add("user_s", result.own.user_s)
                            .add("system_s", result.own.system_s)
                            .text());
  if (options.watch > 0) {
    line.raw("watched",
             usage_text(result.watched.process, result.watched_first.process, tally.calls))
        .raw("descendants",
             usage_text(result.watched.descendants, result.watched_first.descendants, tally.calls));
  }
  if (tally.killed > 0) line.raw("kill", kill_of(tally));
  return line.text();
}

}  // namespace stdgate::bench
