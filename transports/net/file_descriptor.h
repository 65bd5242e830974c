// FileDescriptor: a descriptor with one owner, closed when that goes.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace stdgate::net {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~FileDescriptor() { reset(); }

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Opens /dev/null as each of the descriptors 0, 1 and 2 that is closed, because the program was
// started without it: otherwise a socket or pipe would get its number and be taken for it. False
// when that fails. Has to be called before anything else opens a descriptor.
inline bool open_standard_descriptors() {
  int fd = 0;  // the lowest free number
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  return fd >= 0 && ::close(fd) == 0;
}

}  // namespace stdgate::net
