#include "tests/bench/load_report.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "gateway/rpc/json_text.h"

namespace stdgate::bench {
namespace {

// JSON knows no infinity.
void decimal(rpc::JsonWriter& json, std::string_view key, double value) {
  std::array<char, 32> digits;
  if (!std::isfinite(value)) value = 0;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, 3);
  json.raw(key, {digits.data(), static_cast<size_t>(end.ptr - digits.data())});
}

double microseconds(uint64_t value_ns) { return static_cast<double>(value_ns) / 1e3; }

void write_latency(rpc::JsonWriter& json, const LatencyHistogram& latency) {
  decimal(json, "p50", microseconds(latency.quantile_ns(0.5)));
  decimal(json, "p90", microseconds(latency.quantile_ns(0.9)));
  decimal(json, "p99", microseconds(latency.quantile_ns(0.99)));
  decimal(json, "max", microseconds(latency.max_ns()));
}

void write_usage(rpc::JsonWriter& json, const ProcessUsage& usage, const ProcessUsage& first,
                 uint64_t calls) {
  const double per_call = calls == 0 ? 0 : 1e6 / static_cast<double>(calls);
  decimal(json, "user_s", usage.user_s);
  decimal(json, "system_s", usage.system_s);
  decimal(json, "user_us_per_call", usage.user_s * per_call);
  decimal(json, "system_us_per_call", usage.system_s * per_call);
  json.number("resident_bytes", usage.resident_bytes);
  json.number("resident_bytes_before", first.resident_bytes);
  json.number("peak_resident_bytes", usage.peak_resident_bytes);
  json.number("processes", usage.processes);
}

void write_kill(rpc::JsonWriter& json, const Tally& tally) {
  const auto after = [&tally](Instant when) {
    return when <= tally.killed ? 0.0 : static_cast<double>(when - tally.killed) / 1e6;
  };
  json.number("in_flight", tally.open_at_kill);
  decimal(json, "in_flight_answered_ms", after(tally.last_old_answer));
  decimal(json, "first_result_ms", after(tally.first_new_result));
}

}  // namespace

std::string report_line(const LoadOptions& options, const LoadResult& result) {
  const Tally& tally = result.tally;
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  json.number("clients", result.clients_ready);
  json.number("calls", tally.calls);
  json.number("errors", tally.errors);
  json.number("unanswered", result.unanswered);
  if (tally.errors > 0) json.text("first_error", tally.first_error);
  json.begin_object("faults");
  for (const auto& [code, count] : tally.faults) json.number(std::to_string(code), count);
  json.end_object();
  decimal(json, "seconds", result.seconds);
  decimal(json, "calls_per_second", static_cast<double>(tally.calls) / result.seconds);
  decimal(json, "bytes_per_second", static_cast<double>(tally.bytes) / result.seconds);
  json.begin_object("latency_us");
  write_latency(json, tally.latency);
  json.end_object();
  json.begin_object("generator");
  decimal(json, "user_s", result.own.user_s);
  decimal(json, "system_s", result.own.system_s);
  json.end_object();
  if (options.watch > 0) {
    json.begin_object("watched");
    write_usage(json, result.watched.process, result.watched_first.process, tally.calls);
    json.end_object();
    json.begin_object("descendants");
    write_usage(json, result.watched.descendants, result.watched_first.descendants, tally.calls);
    json.end_object();
  }
  if (tally.killed > 0) {
    json.begin_object("kill");
    write_kill(json, tally);
    json.end_object();
  }
  json.end_object();
  return json.take();
}

}  // namespace stdgate::bench
