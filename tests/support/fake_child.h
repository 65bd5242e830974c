// FakeChild: a child process in memory that does exactly what a test tells it to; BackendBench: a
// backend over such children, with the clients, the time and the observer in the test's hand.
//
// Nothing happens by itself: a child starts, speaks, and ends when the test says so, and time
// stands still until advance(). A FakeChild is owned by its launcher, so that a test may look at
// it after its end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/pool/backend.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/reply_sink.h"
#include "tests/support/recording_log.h"

namespace stdgate::test {

class FakeChild {
 public:
  FakeChild(ChildEvents& events, int pid) : pid_(pid), events_(&events) {}

  // What the process does. Nothing of it may happen after its end.
  void start();
  void output(std::string bytes);  // as they are
  void say(const std::string& text) { output(text + "\n"); }
  // Answers the request with the given id as it stands on its stdin.
  void answer(const std::string& id, const std::string& result = "true");
  void close_output();
  void exit(int code) { finish({ExitStatus::Kind::exited, code, {}}); }
  void die(int signal) { finish({ExitStatus::Kind::signaled, signal, {}}); }
  void fail_to_start(std::string why) {
    finish({ExitStatus::Kind::not_started, 2, std::move(why)});
  }
  // From now on nothing is read from its stdin, until drain_stdin().
  void stop_reading() { reads_ = false; }
  void drain_stdin();

  // What it has been sent: lines since the last take, without their ends.
  std::vector<std::string> take_lines();
  // The first of them alone; empty when there is none.
  std::string take_line();
  // The ids of the requests among the lines since the last take, in order.
  std::vector<std::string> take_ids();

  [[nodiscard]] size_t unsent() const { return unsent_; }
  [[nodiscard]] bool running() const { return events_ != nullptr; }
  // The waits with which it was asked to go, in order.
  [[nodiscard]] const std::vector<Duration>& ends() const { return ends_; }
  [[nodiscard]] int pid() const { return pid_; }

 private:
  friend class FakeLauncher;
  friend class FakeLink;
  template <class Event>
  void tell(Event event);
  void finish(const ExitStatus& status);

  const int pid_;
  ChildEvents* events_;   // null: it has ended, or its link is gone
  bool telling_ = false;  // an event is being told: the link must not go
  bool reads_ = true;
  size_t unsent_ = 0;
  std::string stdin_;
  std::vector<Duration> ends_;
};

class FakeLauncher final : public ChildLauncher {
 public:
  std::unique_ptr<ChildLink> launch(const LaunchSpec& spec, ChildEvents& events) override;

  // In the order of their launch; those that have ended included.
  [[nodiscard]] FakeChild& child(size_t index) { return *children_.at(index); }
  [[nodiscard]] size_t launched() const { return children_.size(); }
  [[nodiscard]] size_t running() const;

 private:
  std::vector<std::shared_ptr<FakeChild>> children_;
};

class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void set(TimePoint now) { now_ = now; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

// A caller: keeps what it gets, and may do something on each answer.
class FakeClient final : public ReplySink {
 public:
  struct Answer {
    Tag tag = 0;
    std::string text;
    std::optional<Fault> fault;
    Duration retry_after{0};
  };
  explicit FakeClient(Origins& origins) : origins_(origins), origin_(*origins.add(*this)) {}
  ~FakeClient() override { origins_.remove(origin_); }
  FakeClient(const FakeClient&) = delete;
  FakeClient& operator=(const FakeClient&) = delete;

  void on_reply(Tag tag, const Reply& reply) override;
  void on_event(Tag tag, std::string_view notification) override;

  [[nodiscard]] Origin origin() const { return origin_; }
  // Texts of the answers so far.
  [[nodiscard]] std::vector<std::string> texts() const;

  std::vector<Answer> answers;
  std::vector<std::pair<Tag, std::string>> events;
  std::function<void(const Answer&)> after_reply;

 private:
  Origins& origins_;
  const Origin origin_;
};

// Keeps what it is told.
class RecordingObserver final : public Observer {
 public:
  struct Record {  // a CallRecord that owns its texts
    std::string method;
    MethodId method_id = kOtherMethod;
    std::string outcome;
    Duration total{0};
    Duration queued{0};
    Duration child{0};
    bool reached_child = false;
    std::string id;
    size_t bytes_in = 0;
    size_t bytes_out = 0;
    std::string detail;
  };
  void on_call_started(BackendId) override { ++started; }
  void on_call_finished(const CallRecord& record) override;
  void on_notification(BackendId, MethodId, Direction direction) override {
    ++notifications[direction];
  }
  void on_dropped(BackendId, DropReason reason) override { ++dropped[reason]; }
  void on_child_state(BackendId, ChildState from, ChildState to) override {
    --states[from];
    ++states[to];
  }
  void on_child_started(BackendId, StartReason reason) override { starts.push_back(reason); }
  void on_child_exited(BackendId, ExitReason reason) override { exits.push_back(reason); }
  void on_method(BackendId, MethodId, std::string_view name) override {
    methods.emplace_back(name);
  }

  uint64_t started = 0;
  std::vector<Record> records;
  std::map<Direction, int> notifications;
  std::map<DropReason, int> dropped;
  std::map<ChildState, int> states;
  std::vector<StartReason> starts;
  std::vector<ExitReason> exits;
  std::vector<std::string> methods;
};

BackendOptions plain_options();

class BackendBench {
 public:
  // Starts the backend.
  explicit BackendBench(BackendOptions options);
  BackendBench(BackendOptions options, std::unique_ptr<Dialect> dialect);

  // Gives the backend a message of a client.
  Admission send(FakeClient& client, std::string text, Tag tag = 0, bool wants_events = false);
  // Sends a request with this id and method "m".
  void call(FakeClient& client, const std::string& id = "1", Tag tag = 0);
  void leave(FakeClient& client) { backend.cancel_calls_of(client.origin()); }

  // Time passes; timers fire at their times, in order.
  void advance(Duration duration);
  // Timers that are due now fire.
  void settle() { advance(Duration{0}); }

  FakeChild& child(size_t index) { return launcher.child(index); }
  // Starts the process launched last.
  FakeChild& start_child();
  [[nodiscard]] BackendStatus status() const { return backend.status(); }

  ManualClock clock;
  TimerQueue timers;
  RecordingLog log;
  RecordingObserver observer;
  FakeLauncher launcher;
  Random random{7};
  Origins origins{1000};
  CoreServices services{clock, timers, log, observer, launcher, random};
  Backend backend;
};

}  // namespace stdgate::test
