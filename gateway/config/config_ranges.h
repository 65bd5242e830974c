// Ranges of the configuration's numbers. The range of a single key stands in its row (options/).
#pragma once

#include <chrono>
#include <cstdint>

#include "gateway/base/time.h"

namespace stdgate::config {

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
inline constexpr size_t kMaxConfigFile = kMiB;
inline constexpr size_t kMaxListeners = 64;
inline constexpr size_t kMaxAddressBlocks = 64;
inline constexpr size_t kMaxCertificates = 64;  // of a listener
inline constexpr size_t kMaxBackends = 256;
inline constexpr size_t kMaxBackendName = 64;
// A label of a host name (RFC 1035 section 2.3.4).
inline constexpr size_t kMaxReplicaName = 63;
// Virtual servers; members of one, and tools of a member that are renamed and the like.
inline constexpr size_t kMaxServers = 64;
inline constexpr size_t kMaxMembers = 256;
inline constexpr size_t kMaxNamedTools = 1024;
inline constexpr size_t kMaxPins = 256;
inline constexpr size_t kMaxShownName = 64;  // of a tool, as language models' interfaces take it
inline constexpr size_t kMaxRoles = 256;
inline constexpr size_t kMaxRules = 128;     // of a backend
inline constexpr size_t kMaxPatterns = 256;  // of a list of names or patterns in a rule
inline constexpr size_t kMaxPattern = 1024;  // bytes of one
inline constexpr size_t kMaxBuckets = 100;
inline constexpr double kMaxBucketSeconds = 86400;

// backends.*.env_file
inline constexpr size_t kMaxEnvFiles = 16;
// The longest variable that execve() takes (MAX_ARG_STRLEN), so that no line can be too long for
// it.
inline constexpr size_t kMaxEnvFile = 128 * kKiB;
// backends.*.sandbox, of each list; what the guard takes (guard/sandbox.h).
inline constexpr size_t kMaxSandboxPaths = 64;
inline constexpr size_t kMaxSandboxPorts = 64;
// Of `auth`. A key is compared with all of them.
inline constexpr size_t kMaxApiKeys = 256;
inline constexpr size_t kMinApiKey = 16;  // bytes of one
inline constexpr size_t kMaxApiKey = 256;
inline constexpr size_t kMaxIssuers = 16;
inline constexpr size_t kMaxAudiences = 64;   // of an issuer
inline constexpr size_t kMaxScopes = 1024;    // bytes of all, as they stand in a field
inline constexpr size_t kMaxPublicUrl = 200;  // bytes
inline constexpr size_t kMaxVariableFile = 64 * kKiB;
inline constexpr size_t kMaxTextFile = 128 * kKiB;  // of keys of an issuer
inline constexpr size_t kMaxPrincipalName = 64;     // as it is configured
// For `traces`. At least the spans of some calls; at most the spans of a few seconds in a busy
// gateway.
inline constexpr size_t kMinSpanQueue = 64;
inline constexpr size_t kMaxSpanQueue = 65536;
inline constexpr size_t kMaxTraceHeaders = 16;
inline constexpr size_t kMaxTraceHeader = 4096;  // bytes of a value
inline constexpr size_t kMaxServiceName = 255;   // bytes
// sessions.key_file: kMaxKeys keys, and comments.
inline constexpr size_t kMaxKeyFile = 16 * kKiB;

}  // namespace stdgate::config
