// Every number of the configuration: accepted at its limits, and refused one step beyond them.
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

struct Range {
  const char* path;  // the key with the keys above it
  const char* below;
  const char* least;
  const char* greatest;
  const char* above;
};

config::Setting at(const std::string& path, const std::string& value) {
  config::Setting setting;
  size_t begin = 0;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find('.', begin), path.size());
    setting.path.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  setting.value = value;
  return setting;
}

// The error for `value` at `path`. The other settings are such that checks between keys pass.
std::string error_of(const std::string& path, const std::string& value) {
  std::vector<config::Setting> settings = {
      {{"backends", "a", "command"}, std::vector<std::string>{"x"}},
      at("limits.message", "1KiB"),
      // Only a language server may use all of `max` for sessions, and only shared children may all
      // be `min`.
      at("backends.a.protocol", path.ends_with("warm") ? "lsp" : "jsonrpc"),
      at("backends.a.timeout", "1ms"),
      at("backends.a.pool.max", "1024"),
      at("backends.a.pool.backoff_min", path.ends_with("backoff_max") ? "1ms" : "100ms"),
      at("backends.a.pool.backoff_max", "1h"),
  };
  settings.push_back(at(path, value));
  const auto config = config::parse_config("", {}, settings);
  if (config) return "";
  return config.error().size() == 1 ? config.error()[0].path : "several errors";
}

void check_range(const Range& range) {
  const std::string path = range.path;
  EXPECT_EQ(error_of(path, range.least), "") << path;
  EXPECT_EQ(error_of(path, range.greatest), "") << path;
  if (range.below != nullptr) {
    EXPECT_EQ(error_of(path, range.below), path);
  }
  EXPECT_EQ(error_of(path, range.above), path);
}

TEST(ConfigRange, OfBackends) {
  const Range ranges[] = {
      {"backends.a.timeout", "0s", "1ms", "24h", "86400001ms"},
      {"backends.a.max_time", "0s", "1ms", "24h", "86400001ms"},
      {"backends.a.rlimits.address_space", "1048575", "1MiB", "1048576GiB", "1125899906842625"},
      {"backends.a.rlimits.cpu", "0s", "1s", "8760h", "31536001s"},
      {"backends.a.rlimits.open_files", "15", "16", "1048576", "1048577"},
      {"backends.a.rlimits.processes", "0", "1", "4194304", "4194305"},
      {"backends.a.pool.min", nullptr, "0", "1024", "1025"},
      {"backends.a.pool.max", "0", "1", "1024", "1025"},
      {"backends.a.pool.warm", nullptr, "0", "1024", "1025"},
      {"backends.a.pool.sessions", "0", "1", "100000", "100001"},
      {"backends.a.pool.max_in_flight", "0", "1", "4096", "4097"},
      {"backends.a.pool.queue", "0", "1", "1000000", "1000001"},
      {"backends.a.pool.queue_bytes", "1023", "1KiB", "64GiB", "68719476737"},
      {"backends.a.pool.start_timeout", "0s", "1ms", "1h", "3600001ms"},
      {"backends.a.pool.fetch_timeout", nullptr, "0s", "1h", "3600001ms"},
      {"backends.a.pool.idle_timeout", "0s", "1ms", "24h", "86400001ms"},
      {"backends.a.pool.min_hold", nullptr, "0s", "1h", "3600001ms"},
      {"backends.a.pool.grace", "0s", "1ms", "1m", "60001ms"},
      {"backends.a.pool.backoff_min", "0s", "1ms", "1h", "3600001ms"},
      {"backends.a.pool.backoff_max", "0s", "1ms", "1h", "3600001ms"},
      {"backends.a.pool.breaker_failures", "0", "1", "1000", "1001"},
  };
  for (const Range& range : ranges) check_range(range);
}

TEST(ConfigRange, OfTheGateway) {
  const Range ranges[] = {
      {"limits.message", "1023", "1KiB", "1GiB", "1073741825"},
      {"limits.headers", "1023", "1KiB", "1MiB", "1048577"},
      {"limits.batch", "0", "1", "100000", "100001"},
      {"limits.depth", "1", "2", "1024", "1025"},
      {"limits.connections", "0", "1", "1000000", "1000001"},
      {"limits.buffered", "1023", "1KiB", "1024GiB", "1099511627777"},
      {"limits.buffered_per_client", "1023", "1KiB", "1024GiB", "1099511627777"},
      {"limits.outbox", "1023", "1KiB", "1GiB", "1073741825"},
      {"limits.connections_per_address", "0", "1", "1000000", "1000001"},
      {"limits.session_starts", nullptr, "0", "1000000", "1000001"},
      {"limits.session_burst", "0", "1", "1000000", "1000001"},
      {"limits.min_rate", nullptr, "0", "1GiB", "1073741825"},
      {"limits.memory", "4194303", "4MiB", "1024GiB", "1099511627777"},
      {"limits.loop_lag", nullptr, "0s", "1m", "60001ms"},
      {"limits.replay", nullptr, "0", "1GiB", "1073741825"},
      {"limits.replay_events", nullptr, "0", "1000000", "1000001"},
      {"timeouts.header", "0s", "1ms", "1h", "3600001ms"},
      {"timeouts.body", "0s", "1ms", "1h", "3600001ms"},
      {"timeouts.request", "0s", "1ms", "24h", "86400001ms"},
      {"timeouts.idle", "0s", "1ms", "1h", "3600001ms"},
      {"timeouts.drain", nullptr, "0s", "1h", "3600001ms"},
      {"sessions.ttl", "999ms", "1s", "8760h", "31536001s"},
      {"timeouts.keep_alive", "0s", "1ms", "1h", "3600001ms"},
      {"timeouts.ping", "0s", "1ms", "1h", "3600001ms"},
      {"timeouts.pong", "0s", "1ms", "1h", "3600001ms"},
      {"log.payload_limit", "0", "1", "16MiB", "16777217"},
      {"metrics.methods", "0", "1", "100000", "100001"},
  };
  for (const Range& range : ranges) check_range(range);
}

}  // namespace
}  // namespace stdgate
