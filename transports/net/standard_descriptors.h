// Descriptors 0, 1 and 2 of a program that was started without some of them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace stdgate::net {

// Opens /dev/null on each that is closed: else a socket or pipe would get its number and be taken
// for it. False when that fails. Before anything else opens a descriptor.
inline bool open_standard_descriptors() {
  for (;;) {
    const int fd = ::open("/dev/null", O_RDWR);
    if (fd < 0) return false;
    if (fd <= STDERR_FILENO) continue;  // the lowest free number
    ::close(fd);
    return true;
  }
}

}  // namespace stdgate::net
