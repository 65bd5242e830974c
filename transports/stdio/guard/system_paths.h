// The files that every program may read and execute in a sandbox that lists files, and the devices
// that it may use: those of libc, loaders, certificates and language runtimes, and none of a user
// or a service.
#pragma once

#include <array>

namespace stdgate::guard {

// Files of /etc and /proc are listed one by one, as both also hold secrets. /proc/self is the
// command; of its descendants each has to do without its own.
inline constexpr std::array kSystemPaths{
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
    "/run/systemd/resolve",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
};

inline constexpr std::array kSystemDevices{
    "/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero",
};

}  // namespace stdgate::guard
