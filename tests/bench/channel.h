// Channel: one client's connection, non-blocking; a socket, or the two pipes of a process.
//
// Job: collect what is sent, and write it with as few calls as the kernel takes; read in large
// pieces. Owner: a Client. It closes its descriptors. Unsent bytes are bounded by the calls that a
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
  // Without a copy: `bytes` stay as they are until they are sent. After what was sent before;
  // nothing may be sent behind it until all has left.
  void send_kept(std::string_view bytes) { kept_ = bytes; }

  // Writes what the kernel takes. False: the connection is broken.
  bool flush();
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty() || !kept_.empty(); }

  // Bytes read, 0 when there are none now, -1 at the end of the stream or when it is broken.
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
// Waits until the connection stands.
tl::expected<Descriptors, std::string> connect_to(const std::string& host, uint16_t port);

struct PipedProcess {
  Descriptors descriptors;
  pid_t pid = 0;
};
// Starts the command; its stdin and stdout are pipes of 1 MiB.
tl::expected<PipedProcess, std::string> start_piped(const std::vector<std::string>& command);

}  // namespace stdgate::bench
