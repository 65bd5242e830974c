#include "tests/sim/sim_child.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "gateway/rpc/json_member.h"

namespace stdgate::sim {

namespace {
constexpr size_t kOversize = 70'000;  // over the limit that the simulation configures
}

class SimChild final : public std::enable_shared_from_this<SimChild>, private FrameSink {
 public:
  SimChild(SimWorld& world, const Temper& temper, ChildEvents& events, int pid)
      : world_(world),
        temper_(temper),
        events_(&events),
        pid_(pid),
        framer_(make_framer(Framing::newline, size_t{1} << 20)),
        parser_(EnvelopeLimits{}) {}

  void launch() {
    if (world_.chance(temper_.never_starts)) return;
    if (world_.chance(temper_.fails_to_start)) {
      exit_after(world_.pick_duration(Duration{1}, std::chrono::milliseconds(50)),
                 {ExitStatus::Kind::not_started, 2, "exec: no such file"});
      return;
    }
    later(world_.pick_duration(Duration{1}, std::chrono::milliseconds(200)),
          [](SimChild& self) { self.events_->on_started(self.pid_); });
  }

  void write(std::span<const std::string_view> parts) {
    if (stdin_closed_) return;
    for (const std::string_view part : parts) stdin_ += part;
    read_later();
  }
  [[nodiscard]] size_t unsent_bytes() const { return stdin_.size(); }

  void end(Duration grace) {
    stdin_closed_ = true;
    if (grace == Duration{0}) {
      exit_after(Duration{1}, {ExitStatus::Kind::signaled, 9, {}});
    } else {
      exit_after(world_.pick_duration(Duration{1}, 2 * grace), {ExitStatus::Kind::exited, 0, {}});
    }
  }

  // The link is gone: nobody is told anything any more.
  void detach() { events_ = nullptr; }
  [[nodiscard]] bool gone() const { return events_ == nullptr; }

 private:
  template <class Action>
  void later(Duration delay, Action action) {
    world_.after(delay, [weak = weak_from_this(), action]() mutable {
      const auto self = weak.lock();
      if (self && !self->gone()) action(*self);
    });
  }

  void exit_after(Duration delay, ExitStatus status) {
    later(delay, [status](SimChild& self) {
      ChildEvents* events = std::exchange(self.events_, nullptr);
      events->on_exit(status);
    });
  }

  // Takes a part of what waits in the pipe, as a slow reader would.
  void read_later() {
    if (reading_) return;
    reading_ = true;
    later(world_.pick_duration(Duration{1}, std::chrono::milliseconds(5)), [](SimChild& self) {
      self.reading_ = false;
      const bool was_full = self.stdin_.size() >= ChildLink::kHighWatermark;
      std::string piece = self.stdin_.substr(0, self.world_.pick(1, 400));
      self.stdin_.erase(0, piece.size());
      self.framer_->feed(piece, self);
      if (self.gone()) return;
      if (!self.stdin_.empty()) self.read_later();
      if (was_full && self.stdin_.size() < ChildLink::kHighWatermark / 2) {
        self.events_->on_writable();
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
    const Envelope& envelope = document->messages[0].envelope;
    if (envelope.kind == MessageKind::request) answer(envelope);
  }
  void on_oversized_frame(std::string_view, size_t) override {}
  void on_broken_framing(const char*) override {}

  // A slot that may well be in use, with a generation that no run gets to.
  uint64_t invented_id() { return world_.pick(0, 9) | world_.pick(1000, 500'000) << 12; }

  void misbehave() {
    if (world_.chance(temper_.dies)) {
      exit_after(Duration{1}, world_.chance(0.5) ? ExitStatus{ExitStatus::Kind::exited, 3, {}}
                                                 : ExitStatus{ExitStatus::Kind::signaled, 9, {}});
    }
    if (world_.chance(temper_.closes_stdout)) {
      later(Duration{1}, [](SimChild& self) { self.events_->on_output_end(); });
    }
    if (world_.chance(temper_.talks_nonsense)) say("listening on \"stdio\"", Duration{1});
    if (world_.chance(temper_.invents_answer)) {
      say(R"({"jsonrpc":"2.0","id":)" + std::to_string(invented_id()) + R"(,"result":"invented"})",
          Duration{1});
    }
    if (world_.chance(temper_.sends_notification)) {
      say(R"({"jsonrpc":"2.0","method":"note","params":[1]})", Duration{1});
    }
    if (world_.chance(temper_.asks_the_client)) {
      say(R"({"jsonrpc":"2.0","id":"ask-1","method":"roots/list"})", Duration{1});
    }
  }

  void answer(const Envelope& request) {
    if (world_.chance(temper_.ignores)) return;
    const std::string head = R"({"jsonrpc":"2.0","id":)" + std::string(request.id);
    const Duration delay = world_.pick_duration(Duration{1}, temper_.slowest_answer);
    if (request.method == "initialize") {
      say(head + R"(,"result":{"protocolVersion":"2025-11-25","capabilities":{}}})", delay);
      return;
    }
    const auto meta = find_member(request.params, "_meta");
    const auto token = meta ? find_member(*meta, "progressToken") : meta;
    if (token && world_.chance(temper_.sends_progress)) {
      say(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" +
              std::string(*token) + R"(,"progress":1,"for":)" + nonce(request) + "}}",
          delay / 2);
    }
    if (world_.chance(temper_.breaks_answer)) {
      say(head + R"(,"result":1,"error":{"code":1,"message":"both"}})", delay);
    } else if (world_.chance(temper_.oversizes_answer)) {
      say(head + R"(,"result":")" + std::string(kOversize, 'x') + "\"}", delay);
    } else {
      say(head + R"(,"result":)" + nonce(request) + "}", delay);
      if (world_.chance(temper_.answers_twice)) {
        say(head + R"(,"result":"again"})", delay + std::chrono::milliseconds(1));
      }
    }
  }

  static std::string nonce(const Envelope& request) {
    return std::string(find_member(request.params, "nonce").value_or("null"));
  }

  // One line of output, delivered in pieces but never mixed with another line.
  void say(std::string line, Duration delay) {
    line += world_.chance(0.1) ? "\r\n" : "\n";
    later(delay, [line = std::move(line)](SimChild& self) mutable {
      size_t at = 0;
      while (at < line.size() && !self.gone()) {
        const size_t piece = std::min<size_t>(line.size() - at, self.world_.pick(1, line.size()));
        self.events_->on_output(std::span(line).subspan(at, piece));
        at += piece;
      }
    });
  }

  SimWorld& world_;
  const Temper& temper_;
  ChildEvents* events_;
  const int pid_;
  bool stdin_closed_ = false;
  bool reading_ = false;
  std::string stdin_;
  std::unique_ptr<Framer> framer_;
  EnvelopeParser parser_;
};

namespace {

class SimLink final : public ChildLink {
 public:
  explicit SimLink(std::shared_ptr<SimChild> child) : child_(std::move(child)) {}
  ~SimLink() override { child_->detach(); }
  void write(std::span<const std::string_view> parts) override { child_->write(parts); }
  [[nodiscard]] size_t unsent_bytes() const override { return child_->unsent_bytes(); }
  void end(Duration grace) override { child_->end(grace); }

 private:
  std::shared_ptr<SimChild> child_;
};

}  // namespace

std::unique_ptr<ChildLink> SimLauncher::launch(const LaunchSpec& /*spec*/, ChildEvents& events) {
  auto child = std::make_shared<SimChild>(world_, temper_, events, next_pid_++);
  children_.push_back(child);
  child->launch();
  return std::make_unique<SimLink>(std::move(child));
}

size_t SimLauncher::running() const {
  return static_cast<size_t>(
      std::count_if(children_.begin(), children_.end(), [](const std::weak_ptr<SimChild>& weak) {
        const auto child = weak.lock();
        return child && !child->gone();
      }));
}

}  // namespace stdgate::sim
