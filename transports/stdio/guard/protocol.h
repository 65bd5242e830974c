// The protocol of gateway and guard: descriptors, arguments, lines of the control channel.
//
// Arguments: NAME [OPTION VALUE]... -- COMMAND...; all options but kCommandFollows take a value.
// Control channel (descriptor kControlFd, a socket pair). Guard to gateway, lines:
//   "pid 1234"           the command runs
//   "failed 2 exec: No such file or directory"   errno and step; the guard exits
//   "unconfined 1 landlock: Operation not permitted"
//                        errno and step; the command runs nevertheless
//   "left 2"             so many processes still ran when the command had exited by itself; they
//                        were ended; before "cpu", and only if there were any
//   "lingered 640"       milliseconds that they had between; before "cpu", and only if any could
//                        pass (kLingerOption)
//   "unsandboxed 95 no Landlock ABI 3 (Linux 6.2) for files: Operation not supported"
//                        errno and what is missing of a sandbox; the command runs nevertheless
//   "cpu 123456"         microseconds of CPU used by the command, its descendants and the guard;
//                        sent before the guard exits
// Gateway to guard: kTerminateByte sends SIGTERM to the command's process group; end of file ends
// everything.
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stdgate::guard {

inline constexpr const char* kProcessName = "child-guard";  // in process lists; 15 bytes at most
inline constexpr int kControlFd = 3;
inline constexpr char kTerminateByte = 'T';

inline constexpr std::string_view kDirectoryOption = "--cwd";
// "UID:GID:GID,GID...": who the command runs as, and its other groups. Numbers, as looking names up
// would need more than libc alone.
inline constexpr std::string_view kIdentityOption = "--identity";
inline constexpr size_t kMaxGroups = 1024;
// The file cgroup.procs of the cgroup that the guard joins before it starts the command. Where that
// fails, the command runs all the same.
inline constexpr std::string_view kCgroupOption = "--cgroup";
// The milliseconds that the command's descendants have to end by themselves after it.
inline constexpr std::string_view kLingerOption = "--linger";
inline constexpr std::string_view kCommandFollows = "--";

// The sandbox (sandbox.h): each word, path and port as an option of its own.
inline constexpr std::string_view kSandboxOption = "--sandbox";  // one of these two
inline constexpr std::string_view kSandboxRequired = "required";
inline constexpr std::string_view kSandboxWished = "wished";
inline constexpr std::string_view kFilesOption = "--files";  // one of these two
inline constexpr std::string_view kFilesWrites = "writes";
inline constexpr std::string_view kFilesAll = "all";
inline constexpr std::string_view kReadOption = "--read";
inline constexpr std::string_view kWriteOption = "--write";
inline constexpr std::string_view kNetworkOption = "--network";  // one of these four; else any
inline constexpr std::string_view kNetworkNone = "none";
inline constexpr std::string_view kNetworkOutbound = "outbound";
inline constexpr std::string_view kNetworkPorts = "ports";
inline constexpr std::string_view kNetworkPortsAndUnix = "ports+unix";
inline constexpr std::string_view kConnectOption = "--connect";
inline constexpr std::string_view kBindOption = "--bind";

using Resource = decltype(RLIMIT_AS);
// A resource limit of the command, as an option.
struct LimitOption {
  std::string_view name;
  Resource resource;
};
inline constexpr LimitOption kAddressSpaceLimit{"--as", RLIMIT_AS};
inline constexpr LimitOption kCpuLimit{"--cpu", RLIMIT_CPU};
inline constexpr LimitOption kFilesLimit{"--nofile", RLIMIT_NOFILE};
inline constexpr LimitOption kProcessesLimit{"--nproc", RLIMIT_NPROC};
inline constexpr std::array kLimitOptions{kAddressSpaceLimit, kCpuLimit, kFilesLimit,
                                          kProcessesLimit};

inline constexpr std::string_view kPidLine = "pid";
inline constexpr std::string_view kFailedLine = "failed";
inline constexpr std::string_view kUnconfinedLine = "unconfined";
inline constexpr std::string_view kLeftLine = "left";
inline constexpr std::string_view kLingeredLine = "lingered";
inline constexpr std::string_view kUnsandboxedLine = "unsandboxed";
inline constexpr std::string_view kCpuLine = "cpu";

// Exit codes of the guard itself (sysexits.h); 127 as a shell's for a command that was not started.
inline constexpr int kBadUsage = 64;
inline constexpr int kSystemFailed = 71;
inline constexpr int kNotStarted = 127;

}  // namespace stdgate::guard
