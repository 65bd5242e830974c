// SystemMemory: what the system says of this process's memory, and of how much there is.
//
// Reads /proc/self/statm; the whole is the least of the machine's and what control groups allow
// (version 2, or 1), read once.
#pragma once

#include <string>

#include "gateway/app/overload_watch.h"

namespace stdgate::app {

class SystemMemory final : public SystemReading {
 public:
  // `root` has proc and sys/fs/cgroup; "" is the system's.
  explicit SystemMemory(std::string root = "") : root_(std::move(root)) {}

  uint64_t used() override;
  uint64_t whole() override;
  Duration give_back() override;

 private:
  const std::string root_;
  const std::string statm_ = root_ + "/proc/self/statm";
};

}  // namespace stdgate::app
