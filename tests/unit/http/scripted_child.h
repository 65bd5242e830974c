// ScriptedChild: a child in memory, whose methods do what tests need:
//   echo    answers its params
//   hold    answers when the test says so
//   events  {"n":N}: sends N notifications `tick`, then its result
//   fail    answers an error
//   big     {"size":N}: answers a string of N bytes
// Notifications to the child are kept. The child sends from a timer, and never from within a call
// of one of its functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/rpc/envelope.h"
#include "tests/support/memory_child.h"
#include "transports/net/loop.h"

namespace stdgate::test {

class ScriptedLauncher;

class ScriptedChild final : public MemoryChild {
 public:
  ScriptedChild(ScriptedLauncher& launcher, pool::ChildEvents& events);
  ~ScriptedChild() override;

  void say(const std::string& line);
  void answer_held(const std::string& result);  // answers the oldest held call
  void exit(int code);                          // the child ends by itself
  // Pretends that all but `bytes` of the child's input have been taken.
  void set_unsent(size_t bytes);

  std::vector<std::string> held;           // ids of the calls that wait for answer_held()
  std::vector<std::string> notifications;  // in order
  std::vector<std::string> answers;        // to the questions that the test made the child ask
  size_t calls = 0;

 private:
  void write(std::span<const std::string_view> parts) override;
  [[nodiscard]] size_t unsent_bytes() const override { return unsent_; }
  void set_reading(bool reading) override;
  void end(Duration grace) override;
  void on_line(std::string line);
  void on_timer();

  ScriptedLauncher& launcher_;
  rpc::EnvelopeParser parser_;
  Timer timer_;
  std::string output_;
  size_t unsent_ = 0;
  pool::ExitStatus exit_;
  bool started_ = false;
  bool taken_ = false;  // unsent_ has become smaller
  bool ending_ = false;
};

class ScriptedLauncher final : public pool::ChildLauncher {
 public:
  explicit ScriptedLauncher(net::Loop& loop) : loop_(loop) {}
  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& spec,
                                          pool::ChildEvents& events) override;

  [[nodiscard]] net::Loop& loop() { return loop_; }
  std::vector<ScriptedChild*> children;  // children that exist

 private:
  net::Loop& loop_;
};

}  // namespace stdgate::test
