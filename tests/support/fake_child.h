// FakeChild: a child process in memory that does exactly what a test tells it to. FakeLauncher
// makes FakeChilds, and ChildRecorder keeps the events of a child link.
//
// A child starts, writes and ends only when the test says so. The launcher owns each child too, so
// a test may look at a child after its end.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gateway/pool/child_link.h"
#include "tests/support/memory_child.h"

namespace stdgate::test {

class FakeChild final : public MemoryChild {
 public:
  FakeChild(pool::ChildEvents& events, int pid) : MemoryChild(events), pid_(pid) {}

  // The actions of the process. No action is allowed after its end.
  void start() { tell_started(pid_); }
  void output(std::string bytes) { tell_output(bytes); }  // written unchanged
  void say(const std::string& text) { output(text + "\n"); }
  // Writes the answer to the request with the given id, as that id is spelled on stdin.
  void answer(const std::string& id, const std::string& result = "true");
  void close_output() { tell_output_end(); }
  void use_memory(uint64_t bytes) { tell_memory(bytes); }
  void exit(int code) { tell_exit({pool::ExitStatus::Kind::exited, code, {}}); }
  void die(int signal) { tell_exit({pool::ExitStatus::Kind::signaled, signal, {}}); }
  void fail_to_start(std::string why) {
    tell_exit({pool::ExitStatus::Kind::not_started, 2, std::move(why)});
  }
  // Stops reading stdin, until drain_stdin().
  void stop_reading() { reads_ = false; }
  void drain_stdin();
  void write_stderr(std::string line) { last_words_.push_back(std::move(line)); }

  // The lines that were sent to the child since the last take, without line ends.
  std::vector<std::string> take_lines();
  // The first of these lines; empty if no line has arrived.
  std::string take_line() { return has_line() ? take_input_line() : std::string(); }
  // The ids of the requests among the lines since the last take, in order.
  std::vector<std::string> take_ids();

  [[nodiscard]] size_t unsent() const { return unsent_; }
  // The grace of each end() call so far, in order.
  [[nodiscard]] const std::vector<Duration>& ends() const { return ends_; }
  [[nodiscard]] int pid() const { return pid_; }

 private:
  void write(std::span<const std::string_view> parts) override;
  [[nodiscard]] size_t unsent_bytes() const override { return unsent_; }
  [[nodiscard]] std::vector<std::string> last_words() const override { return last_words_; }
  void end(Duration grace) override { ends_.push_back(grace); }

  const int pid_;
  bool reads_ = true;
  size_t unsent_ = 0;
  std::vector<Duration> ends_;
  std::vector<std::string> last_words_;
};

// FakeLauncher: launches FakeChilds, and owns them.
class FakeLauncher final : public pool::ChildLauncher {
 public:
  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& spec,
                                          pool::ChildEvents& events) override;
  [[nodiscard]] tl::expected<void, pool::LaunchProblem> look_for(
      const pool::LaunchSpec& /*spec*/) const override {
    if (missing.empty()) return {};
    return tl::unexpected(pool::LaunchProblem{"not-found", missing});
  }

  std::string missing;  // what is wrong with the program; empty if nothing is wrong

  // Children in the order of their launch, ended ones included.
  [[nodiscard]] FakeChild& child(size_t index) { return *children_.at(index); }
  [[nodiscard]] size_t launched() const { return children_.size(); }
  [[nodiscard]] size_t running() const;

 private:
  std::vector<std::shared_ptr<FakeChild>> children_;
};

// ChildRecorder: keeps the events of one child link for a test to look at.
struct ChildRecorder final : pool::ChildEvents {
  void on_started(int started_pid) override {
    pid = started_pid;
    order.emplace_back("started");
  }
  void on_output(std::span<char> bytes) override {
    if (output.empty()) order.emplace_back("output");
    output.append(bytes.data(), bytes.size());
  }
  void on_output_end() override { order.emplace_back("output_end"); }
  void on_writable() override { ++writable; }
  void on_memory(uint64_t bytes) override { memory = bytes; }
  void on_exit(const pool::ExitStatus& status) override {
    order.emplace_back("exit");
    exit = status;
  }

  int pid = 0;
  std::string output;
  int writable = 0;
  uint64_t memory = 0;  // of the last report
  std::optional<pool::ExitStatus> exit;
  std::vector<std::string> order;  // each kind of event, where it came first
};

}  // namespace stdgate::test
