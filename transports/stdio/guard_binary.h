// GuardBinary: the file of stdgate-guard, found once and held open.
//
// Job: start the same guard for as long as this program runs, whatever becomes of the file: after
// an upgrade the new one may not speak this program's protocol. Owner: the process; outlives
// the ChildProcesses that use its path.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "transports/net/file_descriptor.h"

namespace stdgate::stdio {

class GuardBinary {
 public:
  static constexpr const char* kFileName = "stdgate-guard";

  // `path`, or, when that is empty, kFileName in the directory of the running program. The error
  // says where it was looked for, and what was wrong.
  static tl::expected<GuardBinary, std::string> open(const std::string& path = "");

  // To be executed by this process and by its forks; it means nothing to other processes.
  [[nodiscard]] std::string path() const;

 private:
  explicit GuardBinary(net::FileDescriptor file) : file_(std::move(file)) {}

  net::FileDescriptor file_;
};

}  // namespace stdgate::stdio
