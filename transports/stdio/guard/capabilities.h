// The capabilities (capabilities(7)) that a child keeps of the gateway's.
//
// Job: a child of a gateway that runs as root can still be an ordinary server: read and write files
// of any owner, change to another user, serve a low port, ping. All other capabilities are dropped:
// they get around what keeps a child apart (SYS_PTRACE, SYS_ADMIN, PERFMON, BPF) or change the
// machine (SYS_MODULE, NET_ADMIN, MKNOD, SYS_TIME, ...). The list is the one of container runtimes,
// without MKNOD, SETPCAP and a few that servers do not need.
#pragma once

#include <linux/capability.h>

#include <array>
#include <cstdint>

namespace stdgate::guard {

struct Capability {
  int number;
  const char* name;  // as capabilities(7) has it, without "CAP_" and in small letters
};

inline constexpr std::array kKeptCapabilities{
    Capability{CAP_CHOWN, "chown"},     Capability{CAP_DAC_OVERRIDE, "dac_override"},
    Capability{CAP_FOWNER, "fowner"},   Capability{CAP_FSETID, "fsetid"},
    Capability{CAP_KILL, "kill"},       Capability{CAP_SETGID, "setgid"},
    Capability{CAP_SETUID, "setuid"},   Capability{CAP_NET_BIND_SERVICE, "net_bind_service"},
    Capability{CAP_NET_RAW, "net_raw"}, Capability{CAP_SYS_CHROOT, "sys_chroot"},
};

// The permitted capabilities of this process, one bit each.
uint64_t permitted_capabilities();

// Takes all others from this process, and from what it will execute. Gives 0 or errno.
int drop_capabilities();

}  // namespace stdgate::guard
