#include "tests/support/fake_child.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "gateway/pool/jsonrpc_dialect.h"

namespace stdgate::test {

template <class Event>
void FakeChild::tell(Event event) {
  const bool was_telling = std::exchange(telling_, true);
  event(*events_);
  telling_ = was_telling;
}

void FakeChild::start() {
  tell([this](ChildEvents& events) { events.on_started(pid_); });
}

void FakeChild::output(std::string bytes) {
  tell([&bytes](ChildEvents& events) { events.on_output(bytes); });
}

void FakeChild::answer(const std::string& id, const std::string& result) {
  say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + result + "}");
}

void FakeChild::close_output() {
  tell([](ChildEvents& events) { events.on_output_end(); });
}

void FakeChild::finish(const ExitStatus& status) {
  tell([this, &status](ChildEvents& events) {
    events_ = nullptr;
    events.on_exit(status);
  });
}

void FakeChild::drain_stdin() {
  reads_ = true;
  const bool was_full = unsent_ >= ChildLink::kHighWatermark;
  unsent_ = 0;
  if (was_full) tell([](ChildEvents& events) { events.on_writable(); });
}

std::string FakeChild::take_line() {
  const size_t end = stdin_.find('\n');
  if (end == std::string::npos) return {};
  std::string line = stdin_.substr(0, end);
  stdin_.erase(0, end + 1);
  return line;
}

std::vector<std::string> FakeChild::take_lines() {
  std::vector<std::string> lines;
  while (stdin_.find('\n') != std::string::npos) lines.push_back(take_line());
  return lines;
}

std::vector<std::string> FakeChild::take_ids() {
  std::vector<std::string> ids;
  EnvelopeParser parser{EnvelopeLimits{}};
  for (std::string& line : take_lines()) {
    const Envelope envelope = parser.parse(line).value().messages[0].envelope;
    if (envelope.kind == MessageKind::request) ids.emplace_back(envelope.id);
  }
  return ids;
}

class FakeLink final : public ChildLink {
 public:
  explicit FakeLink(std::shared_ptr<FakeChild> child) : child_(std::move(child)) {}
  ~FakeLink() override {
    EXPECT_FALSE(child_->telling_) << "a link is destroyed inside of its own event";
    child_->events_ = nullptr;
  }
  void write(std::span<const std::string_view> parts) override {
    for (const std::string_view part : parts) {
      child_->stdin_ += part;
      if (!child_->reads_) child_->unsent_ += part.size();
    }
  }
  [[nodiscard]] size_t unsent_bytes() const override { return child_->unsent_; }
  void set_reading(bool reading) override { child_->is_read_ = reading; }
  void end(Duration grace) override { child_->ends_.push_back(grace); }

 private:
  std::shared_ptr<FakeChild> child_;
};

std::unique_ptr<ChildLink> FakeLauncher::launch(const LaunchSpec& /*spec*/, ChildEvents& events) {
  const int pid = 100 + static_cast<int>(children_.size());
  children_.push_back(std::make_shared<FakeChild>(events, pid));
  return std::make_unique<FakeLink>(children_.back());
}

size_t FakeLauncher::running() const {
  return static_cast<size_t>(std::count_if(children_.begin(), children_.end(),
                                           [](const auto& child) { return child->running(); }));
}

void FakeClient::on_reply(Tag tag, const Reply& reply) {
  Answer answer{tag, std::string(reply.head), reply.fault, reply.retry_after};
  answer.text.append(reply.id).append(reply.tail);
  answers.push_back(answer);
  if (after_reply) after_reply(answer);
}

void FakeClient::on_event(Tag tag, std::string_view notification) {
  events.emplace_back(tag, notification);
}

std::vector<std::string> FakeClient::texts() const {
  std::vector<std::string> texts;
  for (const Answer& answer : answers) texts.push_back(answer.text);
  return texts;
}

void FakeSession::on_reply(Tag /*tag*/, const Reply& reply) {
  received.push_back(std::string(reply.head).append(reply.id).append(reply.tail));
}

void FakeSession::on_event(Tag /*tag*/, std::string_view notification) {
  ADD_FAILURE() << "a session's messages come through on_message(): " << notification;
}

void FakeSession::on_message(std::optional<Tag> /*call*/, std::span<const std::string_view> parts) {
  std::string& text = received.emplace_back();
  for (const std::string_view part : parts) text += part;
}

void FakeSession::on_session_end(SessionEnd how, std::string_view message) {
  EXPECT_FALSE(end.has_value()) << "a session ends once";
  end = how;
  end_message = message;
}

std::vector<std::string> FakeSession::take() { return std::exchange(received, {}); }

void RecordingObserver::on_call_finished(const CallRecord& record) {
  records.push_back({std::string(record.method_name), record.method,
                     std::string(record.outcome.name()), record.total, record.queued, record.child,
                     record.reached_child, std::string(record.id), record.bytes_in,
                     record.bytes_out, std::string(record.detail), record.tool,
                     std::string(record.tool_name)});
}

BackendOptions plain_options() {
  BackendOptions options;
  options.config.name = "fake";
  options.config.command = {"fake"};
  options.config.protocol = Protocol::jsonrpc;
  options.config.timeout = std::chrono::seconds(10);
  return options;
}

BackendOptions session_options(uint32_t max_children) {
  BackendOptions options = plain_options();
  options.config.isolation = Isolation::session;
  options.config.pool.max = max_children;
  return options;
}

BackendBench::BackendBench(BackendOptions options)
    : BackendBench(std::move(options), std::make_unique<JsonRpcDialect>("$/cancelRequest")) {}

BackendBench::BackendBench(BackendOptions options, std::unique_ptr<Dialect> dialect)
    : backend(BackendId{0}, std::move(options), std::move(dialect), origins, services) {
  backend.start();
}

Admission BackendBench::send(FakeClient& client, std::string text, Tag tag, bool wants_events) {
  EnvelopeParser parser(backend.envelope_limits());
  CallContext context;
  context.origin = client.origin();
  context.tag = tag;
  context.arrived = clock.now();
  context.wants_events = wants_events;
  return backend.accept(parser.parse(text).value().messages[0], context);
}

std::optional<FaultReport> BackendBench::open(FakeSession& session) {
  const auto id = backend.open_session(session.origin(), session);
  if (!id) return id.error();
  session.id = *id;
  return std::nullopt;
}

Admission BackendBench::send(FakeSession& session, std::string text, Tag tag) {
  EnvelopeParser parser(backend.envelope_limits());
  CallContext context;
  context.origin = session.origin();
  context.session = session.id;
  context.tag = tag;
  context.transport = Transport::websocket;
  context.arrived = clock.now();
  return backend.accept(parser.parse(text).value().messages[0], context);
}

void BackendBench::call(FakeSession& session, const std::string& id, Tag tag) {
  send(session, R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"m"})", tag);
}

void BackendBench::call(FakeClient& client, const std::string& id, Tag tag) {
  send(client, R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"m"})", tag);
}

void BackendBench::advance(Duration duration) {
  const TimePoint end = clock.now() + duration;
  // A timer may be armed for now by another one: one more round each.
  for (auto due = timers.next_due(); due && *due <= end; due = timers.next_due()) {
    clock.set(std::max(clock.now(), *due));
    timers.run_due(clock.now());
  }
  clock.set(end);
}

FakeChild& BackendBench::start_child() {
  FakeChild& newest = launcher.child(launcher.launched() - 1);
  newest.start();
  return newest;
}

}  // namespace stdgate::test
