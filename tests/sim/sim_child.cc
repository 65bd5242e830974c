#include "tests/sim/sim_child.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "gateway/rpc/json_reader.h"
#include "tests/sim/sim_asks.h"
#include "tests/sim/sim_eras.h"
#include "tests/sim/sim_modern_side.h"
#include "tests/support/memory_child.h"

namespace stdgate::sim {

namespace {
constexpr size_t kOversize = 70'000;  // over the limit that the simulation configures

// Placeholder for the number of a message in the child's output.
constexpr char kSeq = '@';
}  // namespace

class SimChild final : public test::MemoryChild,
                       public std::enable_shared_from_this<SimChild>,
                       private rpc::FrameSink,
                       private SimVoice {
 public:
  SimChild(SimWorld& world, const Temper& temper, SimRecords& records, pool::ChildEvents& events,
           int pid)
      : MemoryChild(events),
        world_(world),
        temper_(temper),
        records_(records),
        pid_(pid),
        dialogue_(world, temper.eras),
        asks_(world, temper, *this, records.life),
        modern_side_(world, temper, *this, records),
        framer_(rpc::make_framer(temper.framing, size_t{1} << 20, world.storages())),
        parser_(rpc::EnvelopeLimits{}) {}

  void launch() {
    if (world_.chance(temper_.never_starts)) return;
    if (world_.chance(temper_.fails_to_start)) {
      exit_after(world_.pick_duration(Duration{1}, std::chrono::milliseconds(50)),
                 {pool::ExitStatus::Kind::not_started, 2, "exec: no such file"});
      return;
    }
    later(world_.pick_duration(Duration{1}, std::chrono::milliseconds(200)),
          [](SimChild& self) { self.tell_started(self.pid_); });
  }

 private:
  void write(std::span<const std::string_view> parts) override {
    if (stdin_closed_) return;
    written_to_ = world_.now();
    check_sent(parts);
    MemoryChild::write(parts);
    read_later();
  }
  void check_sent(std::span<const std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    text.erase(0, text.find('{'));
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    const auto document = parser.parse(text);
    ASSERT_TRUE(document && !document->batch && document->messages[0].ok()) << text;
    const rpc::Envelope& sent = document->messages[0].envelope;
    if (sent.kind == rpc::MessageKind::request) {
      records_.life.note_written(said_in(sent, "nonce"), pid_);
    } else if (sent.kind != rpc::MessageKind::notification) {
      records_.life.note_ask_over(pid_, std::string(sent.id));
    }
    if (temper_.protocol == config::Protocol::mcp) dialogue_.check_sent(sent);
  }
  [[nodiscard]] size_t unsent_bytes() const override { return input_.size(); }

  void set_reading(bool reading) override {
    MemoryChild::set_reading(reading);
    if (reading) later(Duration{1}, [](SimChild& self) { self.read_backlog(); });
  }

  void end(Duration grace) override {
    check_end();
    stdin_closed_ = true;
    lose_asks();
    if (grace == Duration{0}) {
      exit_after(Duration{1}, {pool::ExitStatus::Kind::signaled, 9, {}});
    } else {
      exit_after(world_.pick_duration(Duration{1}, 2 * grace),
                 {pool::ExitStatus::Kind::exited, 0, {}});
    }
  }

  // A child with open tasks is not ended for being idle. It may still be ended because a session
  // needs its place, or because it has misbehaved.
  void check_end() const {
    const bool is_idle = world_.now() - written_to_ >= records_.idle_timeout;
    const bool may_be_for_another = !records_.is_shared || has_misbehaved_ || records_.is_draining;
    if (!is_idle || may_be_for_another || stdin_closed_ || !records_.is_sticky) return;
    EXPECT_FALSE(records_.tasks.has_open(pid_)) << "a child is ended that runs tasks";
  }

  template <class Action>
  void later(Duration delay, Action action) {
    world_.after(delay, [weak = weak_from_this(), action]() mutable {
      const auto self = weak.lock();
      if (self && self->running()) action(*self);
    });
  }

  void exit_after(Duration delay, pool::ExitStatus status) {
    later(delay, [status](SimChild& self) {
      if (self.is_held()) {
        self.exit_to_tell_ = status;
      } else {
        self.finish(status);
      }
    });
  }
  // Calls that are parked for this child's questions are lost with the child. That includes
  // cancelled questions, because the client has not heard of the cancel.
  void lose_asks() {
    if (temper_.serves_one) return records_.states.note_death();
    std::set<std::string> nonces = asks_.asked();
    // A question that names no call can only be about the child's only call.
    if (nonces.contains("")) nonces.merge(records_.life.calls_of(pid_));
    for (const std::string& nonce : nonces) {
      if (!records_.states.is_parked(nonce)) continue;
      if (!stdin_closed_) world_.tally().note(Seen::died_while_parked);
      records_.states.note_death(nonce);
    }
  }
  void finish(const pool::ExitStatus& status) {
    lose_asks();
    if (records_.tasks.has_open(pid_)) world_.tally().note(Seen::task_child_died);
    if (is_modern_) records_.kept.note_exit();
    tell_exit(status);
  }

  // Whether output is waiting: it is still in the pipe, or behind other output.
  [[nodiscard]] bool is_held() const { return !is_read() || !backlog_.empty(); }

  void read_backlog() {
    if (!is_read()) return;
    std::string backlog = std::exchange(backlog_, {});
    if (!backlog.empty()) records_.life.note_said(pid_);
    tell_output(backlog);
    if (exit_to_tell_ && !is_held()) finish(*exit_to_tell_);
  }

  // Takes a part of what is in the pipe, as a slow reader does.
  void read_later() {
    if (reading_) return;
    reading_ = true;
    later(world_.pick_duration(Duration{1}, std::chrono::milliseconds(5)), [](SimChild& self) {
      self.reading_ = false;
      const bool was_full = self.input_.size() >= pool::ChildLink::kHighWatermark;
      std::string piece = self.input_.substr(0, self.world_.pick(1, 400));
      self.input_.erase(0, piece.size());
      self.framer_->feed(piece, self);
      if (!self.running()) return;
      if (!self.input_.empty()) self.read_later();
      if (was_full && self.input_.size() < pool::ChildLink::kHighWatermark / 2) {
        self.tell_writable();
      }
    });
  }

  void on_frame(std::span<char> message) override {
    const auto document = parser_.parse(message);
    if (!document || document->batch || !document->messages[0].ok()) {
      ADD_FAILURE() << "a child got what is no message: "
                    << std::string_view(message.data(), message.size());
      return;
    }
    misbehave();
    const rpc::Envelope& envelope = document->messages[0].envelope;
    switch (envelope.kind) {
      case rpc::MessageKind::request:
        answer(envelope);
        break;
      case rpc::MessageKind::notification:
        note(envelope);
        break;
      case rpc::MessageKind::result:
      case rpc::MessageKind::error:
        asks_.check_answer(envelope);
        break;
    }
  }
  void on_oversized_frame(const rpc::OversizedFrame&) override {}
  void on_broken_framing(const char*) override {}

  void note(const rpc::Envelope& notification) {
    if (notification.method == "exit") {
      exit_after(Duration{1}, {pool::ExitStatus::Kind::exited, 0, {}});
    }
    const bool is_greeted = notification.method == "notifications/initialized";
    if (is_greeted && asks_.may_ask_for_roots() && world_.chance(0.5)) {
      asks_.ask(nullptr, world_.pick_duration(Duration{1}, std::chrono::milliseconds(5)),
                "roots/list");
    }
  }

  // An id whose slot is probably in use, with a generation that no run reaches.
  uint64_t invented_id() { return world_.pick(0, 9) | world_.pick(1000, 500'000) << 12; }

  void misbehave() {
    if (world_.chance(temper_.dies)) {
      const int code = world_.chance(0.5) ? 3 : 0;
      exit_after(Duration{1}, world_.chance(0.5)
                                  ? pool::ExitStatus{pool::ExitStatus::Kind::exited, code, {}}
                                  : pool::ExitStatus{pool::ExitStatus::Kind::signaled, 9, {}});
    }
    if (world_.chance(temper_.closes_stdout)) {
      has_misbehaved_ = true;
      later(Duration{1}, [](SimChild& self) { self.tell_output_end(); });
    }
    if (world_.chance(temper_.talks_nonsense)) say("listening on \"stdio\"", Duration{1});
    if (world_.chance(temper_.invents_answer)) {
      say(R"({"jsonrpc":"2.0","id":)" + std::to_string(invented_id()) + R"(,"result":"invented"})",
          Duration{1});
    }
    if (world_.chance(temper_.sends_notification)) {
      say(R"({"jsonrpc":"2.0","method":"note","params":{)" + stamp() + "}}", Duration{1});
    }
    // Modern children do none of the following.
    const bool is_mcp = temper_.protocol == config::Protocol::mcp;
    if (is_modern_ || (is_mcp && !dialogue_.is_legacy())) return;
    if (world_.chance(temper_.asks_the_client)) asks_.ask(nullptr, Duration{1});
    if (is_mcp && world_.chance(temper_.changes)) {
      const bool is_list = world_.chance(0.5);
      say(R"({"jsonrpc":"2.0","method":"notifications/)" +
              std::string(is_list ? "tools/list_changed\",\"params\":{"
                                  : "resources/updated\",\"params\":{\"uri\":\"u:/1\",") +
              stamp() + "}}",
          Duration{1});
    }
  }

  // Sends messages because of a request until the work is done, even if the request is cancelled.
  void talk(const rpc::Envelope& request, Duration work) {
    if (!world_.chance(dialogue_.is_own() ? temper_.talks_alone : temper_.talks)) return;
    const std::string by = said_in(request, "by");
    if (by.empty()) return;
    for (uint64_t i = world_.pick(1, 5); i > 0; --i) {
      // Questions often come at once.
      const bool is_soon = world_.chance(0.5);
      const Duration last =
          is_soon ? std::min<Duration>(work, std::chrono::milliseconds(30)) : work;
      const Duration delay = world_.pick_duration(Duration{0}, last);
      if (!is_modern_ && world_.chance(0.4)) {
        asks_.ask(&request, delay);
      } else {
        say(R"({"jsonrpc":"2.0","method":"note","params":{)" + stamp() + R"(,"by":)" + by + "}}",
            delay);
      }
    }
  }

  void answer(const rpc::Envelope& request) {
    if (world_.chance(temper_.ignores)) {
      if (request.method != "subscriptions/listen") talk(request, temper_.longest_work);
      return;
    }
    const Duration delay = world_.pick_duration(Duration{1}, world_.chance(temper_.takes_long)
                                                                 ? temper_.longest_work
                                                                 : temper_.slowest_answer);
    if (temper_.protocol == config::Protocol::mcp && answer_by_era(request, delay)) return;
    talk(request, delay);
    if (request.method == "initialize") {
      EXPECT_EQ(rpc::find_member(request.params, "processId").value_or("null"), "null");
      return greet(request, delay);
    }
    send_progress(request, delay);
    const std::string head = head_of(request);
    if (world_.chance(temper_.breaks_answer)) {
      say_unreadable(request, head + R"(,"result":1,"error":{"code":1,"message":"both"}})", delay);
    } else if (world_.chance(temper_.oversizes_answer)) {
      say_unreadable(request, head + R"(,"result":")" + std::string(kOversize, 'x') + "\"}", delay);
    } else {
      answer_well(request, delay);
    }
  }

  // If the call is parked at that time, it ends by the unreadable answer.
  void say_unreadable(const rpc::Envelope& request, std::string text, Duration delay) {
    say(std::move(text), delay, [this, nonce = said_in(request, "nonce")] {
      if (!nonce.empty()) records_.states.note_death(nonce);
    });
  }

  // Answers a request that the child understands. A child that has asked something usually waits
  // for the answers first.
  void answer_well(const rpc::Envelope& request, Duration delay) {
    const std::string head = head_of(request);
    if (temper_.protocol == config::Protocol::mcp && world_.chance(temper_.demands_url)) {
      return say(head +
                     R"(,"error":{"code":-32042,"message":"consent","data":{"elicitations":[)"
                     R"({"mode":"url","url":"u:/","elicitationId":"e","message":"?"}],)" +
                     cause_of(request) + "," + stamp() + "}}}",
                 delay);
    }
    std::string members = cause_of(request);
    if (dialogue_.is_own()) {
      members += R"(,"own":true)";
      if (!asks_.told_roots_of().empty()) members += R"(,"told":)" + asks_.told_roots_of();
    }
    const std::string text = head + R"(,"result":{)" + members + "," + stamp() + "}}";
    if (asks_.has_open(request) && world_.chance(temper_.waits_for_answers)) {
      return asks_.say_after(request, text, delay);
    }
    say(text, delay);
    if (world_.chance(temper_.answers_twice)) {
      say(head + R"(,"result":"again"})", delay + std::chrono::milliseconds(1));
    }
  }

  void send_progress(const rpc::Envelope& request, Duration delay) {
    const std::string token = said_in(request, "progressToken");
    if (token.empty() || !world_.chance(temper_.sends_progress)) return;
    say(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" + token +
            R"(,"progress":1,)" + cause_of(request) + "," + stamp() + "}}",
        delay / 2, [this, nonce = said_in(request, "nonce")] {
          if (!is_held()) records_.life.note_progress(nonce);
        });
  }

  // --- The eras of MCP

  // Returns false for a request of the legacy era, which is answered elsewhere.
  bool answer_by_era(const rpc::Envelope& request, Duration delay) {
    const Speaks speaks = temper_.eras.speaks;
    const bool is_discovery = request.method == "server/discover";
    if (is_stamped(request) && speaks != Speaks::legacy && !is_legacy_) {
      is_modern_ = true;
      if (is_discovery && !dialogue_.is_modern()) {
        discover(request);
      } else {
        // A request that listens causes no other messages.
        if (request.method != "subscriptions/listen") talk(request, delay);
        send_progress(request, delay);
        modern_side_.answer(request, delay);
      }
      return true;
    }
    is_legacy_ = is_legacy_ || request.method == "initialize";
    if (!is_discovery && speaks != Speaks::modern) return false;
    const std::string refusal = head_of(request) + R"(,"error":{"code":-32022,"message":"no"}})";
    if (is_discovery) {
      say_when_asked(refusal);
    } else {
      say(refusal, std::min<Duration>(delay, std::chrono::milliseconds(50)));
    }
    return true;
  }

  void discover(const rpc::Envelope& request) {
    say_when_asked(head_of(request) + R"(,"result":{"resultType":"complete",)" +
                       SimModernSide::discovery() + "}}",
                   [this] { dialogue_.note_discovery(); });
  }

  // Sends the answer to the gateway's question about the era.
  void say_when_asked(std::string text, std::function<void()> on_told = nullptr) {
    constexpr auto kSoon = std::chrono::milliseconds(100);
    Duration delay = world_.pick_duration(Duration{1}, kSoon);
    if (world_.chance(0.8)) {
      switch (temper_.eras.when_asked) {
        case WhenAsked::answers:
          break;
        case WhenAsked::exits:
          world_.tally().note(Seen::exited_when_asked);
          return exit_after(Duration{1}, {pool::ExitStatus::Kind::exited, 1, {}});
        case WhenAsked::ignores:
          return;
        case WhenAsked::answers_late:
          delay = world_.pick_duration(kSoon, std::chrono::milliseconds(900));
          break;
      }
    }
    say(std::move(text), delay, std::move(on_told));
  }

  void greet(const rpc::Envelope& request, Duration delay) {
    asks_.note_greeting(request);
    std::string result = R"({"protocolVersion":"2025-11-25","capabilities":{)";
    if (temper_.protocol == config::Protocol::mcp) {
      result += R"("tools":{"listChanged":true},"prompts":{"listChanged":true},)"
                R"("resources":{"subscribe":true,"listChanged":true},"logging":{})";
    }
    say(head_of(request) + R"(,"result":)" + result + "}}}", delay);
  }

  static std::string head_of(const rpc::Envelope& request) {
    return R"({"jsonrpc":"2.0","id":)" + std::string(request.id);
  }

  // --- SimVoice
  [[nodiscard]] std::string stamp() const override {
    return R"("from":)" + std::to_string(pid_) + R"(,"seq":)" + kSeq +
           (is_modern_ ? R"(,"era":"modern")" : "");
  }

  [[nodiscard]] int pid() const override { return pid_; }
  void die_within(Duration patience) override {
    exit_after(world_.pick_duration(Duration{1}, patience),
               {pool::ExitStatus::Kind::exited, 3, {}});
  }
  using SimVoice::say;
  // The text is delivered in pieces, but never mixed with another text.
  void say(std::string text, Duration delay, std::function<void()> on_told) override {
    later(delay, [text = std::move(text), on_told = std::move(on_told)](SimChild& self) mutable {
      if (on_told) on_told();
      std::string line = self.framed(std::move(text));
      if (self.is_held()) {
        self.backlog_ += line;
        return;
      }
      size_t at = 0;
      self.records_.life.note_said(self.pid_);
      while (at < line.size() && self.running()) {
        const size_t piece = std::min<size_t>(line.size() - at, self.world_.pick(1, line.size()));
        self.tell_output(std::span(line).subspan(at, piece));
        at += piece;
      }
    });
  }

  std::string framed(std::string text) {
    if (const size_t seq = text.rfind(kSeq); seq != std::string::npos) {
      text.replace(seq, 1, std::to_string(++said_));
    }
    std::string scratch;
    const rpc::FrameEnds ends = rpc::frame_ends(temper_.framing, text.size(), scratch);
    std::string frame = std::string(ends.head) + text;
    const bool is_dos = temper_.framing == rpc::Framing::newline && world_.chance(0.1);
    return frame.append(is_dos ? "\r\n" : ends.tail);
  }

  SimWorld& world_;
  const Temper& temper_;
  SimRecords& records_;
  const int pid_;
  SimDialogue dialogue_;
  SimAsks asks_;
  SimModernSide modern_side_;
  bool is_legacy_ = false;  // it was greeted as a legacy child
  bool is_modern_ = false;  // it serves requests that stand alone
  uint64_t said_ = 0;       // number of stamped messages
  bool has_misbehaved_ = false;
  TimePoint written_to_{};
  bool stdin_closed_ = false;
  bool reading_ = false;
  std::string backlog_;
  std::optional<pool::ExitStatus> exit_to_tell_;
  std::unique_ptr<rpc::Framer> framer_;
  rpc::EnvelopeParser parser_;
};

std::unique_ptr<pool::ChildLink> SimLauncher::launch(const pool::LaunchSpec& /*spec*/,
                                                     pool::ChildEvents& events) {
  auto child = std::make_shared<SimChild>(world_, temper_, records_, events, next_pid_++);
  children_.push_back(child);
  child->launch();
  return test::MemoryChild::link_to(std::move(child));
}

size_t SimLauncher::running() const {
  return static_cast<size_t>(
      std::count_if(children_.begin(), children_.end(), [](const std::weak_ptr<SimChild>& weak) {
        const auto child = weak.lock();
        return child && child->running();
      }));
}

}  // namespace stdgate::sim
