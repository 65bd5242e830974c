// CommandOutput: what a command of the shell prints, read on the loop.
//
// The command has the environment and stderr of this process, and an empty stdin. Its process group
// is killed when the time is up or this object is destroyed. Owner: the code that wants the output.
// Limits: kMaxOutput bytes, the given time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "gateway/base/time.h"
#include "transports/net/byte_stream.h"
#include "transports/net/loop.h"

namespace stdgate::stdio {

class CommandOutput final : private net::StreamEvents {
 public:
  static constexpr size_t kMaxOutput = 64 << 10;
  static constexpr Duration kPoll = std::chrono::milliseconds(5);
  // The error says why there is no output.
  using Result = tl::expected<std::string, std::string>;

  // `done` is called once, from the outermost level of the loop, and may destroy this object.
  CommandOutput(net::Loop& loop, const std::string& command, Duration time,
                std::function<void(Result)> done);
  ~CommandOutput() override;
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

 private:
  void start(const std::string& command);
  void on_bytes(std::span<char> bytes) override;
  void on_end() override { look(); }
  void on_error(int /*error*/) override { look(); }
  void look();
  void finish(Result result);
  void kill_all();

  net::Loop& loop_;
  const TimePoint due_;
  std::function<void(Result)> done_;
  std::unique_ptr<net::ByteStream> stream_;
  std::string output_;
  pid_t pid_ = -1;  // until it has been waited for
  Timer timer_;
};

}  // namespace stdgate::stdio
