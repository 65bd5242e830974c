// LoadRun: a run of the load generator, from the first connection to the report.
//
// Job: connect the clients, wait until all are ready, warm up, measure, and wait for the last
// answers. One thread, epoll. Owner: main(). A client whose connection breaks counts as an error
// and is not replaced. A run without an answer for the time of the deadline ends, and its calls in
// flight count as errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/byte_storage.h"
#include "tests/bench/channel.h"
#include "tests/bench/dialogue.h"
#include "tests/bench/load_options.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/tally.h"

namespace stdgate::bench {

struct LoadResult {
  Tally tally;
  double seconds = 0;         // the measured time
  ProcessUsage own;           // CPU of the measured time
  FamilyUsage watched;        // CPU of the measured time, and memory at its end
  FamilyUsage watched_first;  // before the first connection
  uint64_t unanswered = 0;
  size_t clients_ready = 0;
};

class LoadRun {
 public:
  explicit LoadRun(const LoadOptions& options);
  ~LoadRun();
  LoadRun(const LoadRun&) = delete;
  LoadRun& operator=(const LoadRun&) = delete;

  // The error is the reason why the run could not start.
  tl::expected<LoadResult, std::string> run();

 private:
  struct Client {
    explicit Client(const Descriptors& descriptors)
        : channel(descriptors.input, descriptors.output) {}
    Channel channel;
    std::unique_ptr<Dialogue> dialogue;
    ByteQueue held;  // bytes of an incomplete unit
    bool alive = true;
    bool wants_to_write = false;
  };
  using Checked = tl::expected<void, std::string>;

  Checked open_clients();
  void add_client(const Descriptors& descriptors);
  Checked await_ready();
  void warm_up();
  void measure();
  void drain();
  void end_dialogues();
  void kill_when_due();

  // Handles events that occur within `wait_ms`.
  void turn(int wait_ms);
  void on_readable(Client& client);
  void feed_held(Client& client, Instant now);
  void flush(Client& client);
  void fail(Client& client, const std::string& why);
  void watch_output(Client& client, bool on);

  const LoadOptions& options_;
  LoadResult result_;
  Tally& tally_ = result_.tally;
  int epoll_ = -1;
  pid_t piped_ = 0;
  std::vector<std::unique_ptr<Client>> clients_;
  size_t alive_ = 0;
  Instant kill_at_ = 0;  // 0: not to be killed, or killed already
  std::unique_ptr<char[]> buffer_;
};

// The line of JSON that a run prints.

std::string report_line(const LoadOptions& options, const LoadResult& result);

}  // namespace stdgate::bench
