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
#include "gateway/session/reply_sink.h"
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
  // Whether its output is wanted.
  [[nodiscard]] bool is_read() const { return is_read_; }
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
  bool is_read_ = true;
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
  void on_cancelled(Tag tag) override { cancelled.push_back(tag); }

  [[nodiscard]] Origin origin() const { return origin_; }
  // Texts of the answers so far.
  [[nodiscard]] std::vector<std::string> texts() const;

  std::vector<Answer> answers;
  std::vector<std::pair<Tag, std::string>> events;
  std::vector<Tag> cancelled;
  std::function<void(const Answer&)> after_reply;

 private:
  Origins& origins_;
  const Origin origin_;
};

// The client of a session; keeps what it gets.
class FakeSession final : public SessionSink {
 public:
  explicit FakeSession(Origins& origins) : origins_(origins), origin_(*origins.add(*this)) {}
  ~FakeSession() override { origins_.remove(origin_); }
  FakeSession(const FakeSession&) = delete;
  FakeSession& operator=(const FakeSession&) = delete;

  void on_reply(Tag tag, const Reply& reply) override;
  void on_event(Tag tag, std::string_view notification) override;
  void on_cancelled(Tag tag) override { cancelled.push_back(tag); }
  void on_message(std::optional<Tag> call, std::span<const std::string_view> parts) override;
  void set_reading(bool wanted) override { reading = wanted; }
  void on_session_end(SessionEnd how, std::string_view message) override;

  [[nodiscard]] Origin origin() const { return origin_; }
  // Answers and messages since the last take, in their order.
  std::vector<std::string> take();

  SessionId id;  // once it is open
  std::vector<std::string> received;
  std::vector<Tag> cancelled;
  std::optional<SessionEnd> end;
  std::string end_message;
  bool reading = true;

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
    std::optional<ToolId> tool{};
    std::string tool_name{};
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
    ++state_changes;
  }
  void on_child_started(BackendId, StartReason reason) override { starts.push_back(reason); }
  void on_child_exited(BackendId, ExitReason reason) override { exits.push_back(reason); }
  void on_method(BackendId, MethodId, std::string_view name) override {
    methods.emplace_back(name);
  }
  void on_tool(BackendId, ToolId, std::string_view name) override { tools.emplace_back(name); }

  void on_session_opened(BackendId) override { ++sessions; }
  void on_session_closed(BackendId) override { --sessions; }

  int sessions = 0;
  uint64_t started = 0;
  std::vector<Record> records;
  std::map<Direction, int> notifications;
  std::map<DropReason, int> dropped;
  std::map<ChildState, int> states;
  size_t state_changes = 0;
  std::vector<StartReason> starts;
  std::vector<ExitReason> exits;
  std::vector<std::string> methods;
  std::vector<std::string> tools;
};

BackendOptions plain_options();
// Sessions get children of their own.
BackendOptions session_options(uint32_t max_children);

class BackendBench {
 public:
  // Starts the backend.
  explicit BackendBench(BackendOptions options);
  BackendBench(BackendOptions options, std::unique_ptr<Dialect> dialect);

  // Gives the backend a message of a client.
  Admission send(FakeClient& client, std::string text, Tag tag = 0, bool wants_events = false);
  // Sends a request with this id and method "m".
  void call(FakeClient& client, const std::string& id = "1", Tag tag = 0);

  // Opens a session for the client; the fault when it is refused.
  std::optional<FaultReport> open(FakeSession& session);
  Admission send(FakeSession& session, std::string text, Tag tag = 0);
  void call(FakeSession& session, const std::string& id = "1", Tag tag = 0);
  void close(FakeSession& session) { backend.close_session(session.id); }
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
  StoragePool storages;
  Origins origins{1000};
  CoreServices services{clock, timers, log, observer, launcher, random, storages};
  Backend backend;
};

}  // namespace stdgate::test
