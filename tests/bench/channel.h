// Channel: one client's non-blocking connection: a socket, or the two pipes of a process.
//
// Job: collect bytes to send and write them with few system calls; read in large pieces. Owner: a
// Client. The channel closes its descriptors. Limit: unsent bytes are bounded by the calls that a
// client may have in flight.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/byte_storage.h"

namespace stdgate::bench {

class Channel {
 public:
  Channel(int input, int output) : input_(input), output_(output) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int input() const { return input_; }
  [[nodiscard]] int output() const { return output_; }

  void send(std::string_view bytes) { unsent_.append(bytes); }
  // Sends `bytes` after all earlier bytes, without copying them. `bytes` must not change until they
  // have been written, and nothing may be sent before that.
  void send_kept(std::string_view bytes) { kept_ = bytes; }

  // Writes as much as the kernel accepts. False: the connection is broken.
  bool flush();
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty() || !kept_.empty(); }

  // The number of bytes read; 0: none at the moment; -1: the stream has ended or is broken.
  ssize_t read(std::span<char> to) const;

 private:
  int input_;
  int output_;
  ByteQueue unsent_;
  std::string_view kept_;
};

struct Descriptors {
  int input = -1;
  int output = -1;
};
// Waits until the connection is established.
tl::expected<Descriptors, std::string> connect_to(const std::string& host, uint16_t port);

struct PipedProcess {
  Descriptors descriptors;
  pid_t pid = 0;
};
// Starts the command with pipes of 1 MiB as its stdin and stdout.
tl::expected<PipedProcess, std::string> start_piped(const std::vector<std::string>& command);

}  // namespace stdgate::bench
