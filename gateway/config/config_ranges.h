// The least and the greatest value of each number in the configuration.
#pragma once

#include <chrono>
#include <cstdint>

#include "gateway/base/time.h"

namespace stdgate {

struct CountRange {
  uint64_t min;
  uint64_t max;
};
struct SizeRange {
  uint64_t min;
  uint64_t max;
};
struct DurationRange {
  Duration min;
  Duration max;
};

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;

// The file itself.
inline constexpr size_t kMaxListeners = 64;
inline constexpr size_t kMaxBackends = 256;
inline constexpr size_t kMaxBackendName = 64;
inline constexpr size_t kMaxBuckets = 100;
inline constexpr double kMaxBucketSeconds = 86400;

// backends.*
inline constexpr DurationRange kCallTimeout{std::chrono::milliseconds(1), std::chrono::hours(24)};
inline constexpr SizeRange kAddressSpace{kMiB, kMiB* kGiB};
inline constexpr DurationRange kCpuTime{std::chrono::seconds(1), std::chrono::hours(24 * 365)};
inline constexpr CountRange kOpenFiles{16, 1 << 20};
inline constexpr CountRange kProcesses{1, 1 << 22};

// backends.*.pool
inline constexpr CountRange kPoolMin{0, 1024};
inline constexpr CountRange kPoolMax{1, 1024};
inline constexpr CountRange kWarm{0, 1024};
inline constexpr CountRange kSessions{1, 100000};
inline constexpr CountRange kMaxInFlight{1, 4096};
inline constexpr CountRange kQueue{1, 1000000};
inline constexpr SizeRange kQueueBytes{kKiB, 64 * kGiB};
inline constexpr DurationRange kStartTimeout{std::chrono::milliseconds(1), std::chrono::hours(1)};
inline constexpr DurationRange kIdleTimeout{std::chrono::milliseconds(1), std::chrono::hours(24)};
inline constexpr DurationRange kGrace{std::chrono::milliseconds(1), std::chrono::minutes(1)};
inline constexpr DurationRange kBackoff{std::chrono::milliseconds(1), std::chrono::hours(1)};
inline constexpr CountRange kBreakerFailures{1, 1000};

// limits
inline constexpr SizeRange kMessage{kKiB, kGiB};
inline constexpr SizeRange kHeaders{kKiB, kMiB};
inline constexpr CountRange kBatch{1, 100000};
inline constexpr CountRange kDepth{2, 1024};  // an envelope with params has two levels
inline constexpr CountRange kConnections{1, 1000000};
inline constexpr SizeRange kBuffered{kKiB, 1024 * kGiB};
inline constexpr SizeRange kOutbox{kKiB, kGiB};
inline constexpr SizeRange kReplay{0, kGiB};
inline constexpr CountRange kReplayEvents{0, 1'000'000};

// timeouts
inline constexpr DurationRange kConnectionTimeout{std::chrono::milliseconds(1),
                                                  std::chrono::hours(1)};
inline constexpr DurationRange kDrain{std::chrono::milliseconds(0), std::chrono::hours(1)};

// log, metrics
inline constexpr SizeRange kPayloadLimit{1, 16 * kMiB};
inline constexpr CountRange kMethods{1, 100000};

}  // namespace stdgate
