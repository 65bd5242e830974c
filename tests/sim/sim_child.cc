#include "tests/sim/sim_child.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "gateway/rpc/json_member.h"
#include "tests/support/memory_child.h"

namespace stdgate::sim {

namespace {
constexpr size_t kOversize = 70'000;  // over the limit that the simulation configures

// Few, so that the requests of several children, and of one, collide.
constexpr std::array<std::string_view, 6> kAskIds = {"1",    "4096", R"("ask")",
                                                     "-2.0", "null", R"("\u00e9")"};
// Stands for the place of a message in all that a child writes.
constexpr char kSeq = '@';
}  // namespace

class SimChild final : public test::MemoryChild,
                       public std::enable_shared_from_this<SimChild>,
                       private rpc::FrameSink {
 public:
  SimChild(SimWorld& world, const Temper& temper, pool::ChildEvents& events, int pid)
      : MemoryChild(events),
        world_(world),
        temper_(temper),
        pid_(pid),
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
    MemoryChild::write(parts);
    read_later();
  }
  [[nodiscard]] size_t unsent_bytes() const override { return input_.size(); }

  void set_reading(bool reading) override {
    MemoryChild::set_reading(reading);
    if (reading) later(Duration{1}, [](SimChild& self) { self.read_backlog(); });
  }

  void end(Duration grace) override {
    stdin_closed_ = true;
    if (grace == Duration{0}) {
      exit_after(Duration{1}, {pool::ExitStatus::Kind::signaled, 9, {}});
    } else {
      exit_after(world_.pick_duration(Duration{1}, 2 * grace),
                 {pool::ExitStatus::Kind::exited, 0, {}});
    }
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
        self.tell_exit(status);
      }
    });
  }

  // What it has said is still in its pipe, or has to wait behind that.
  [[nodiscard]] bool is_held() const { return !is_read() || !backlog_.empty(); }

  void read_backlog() {
    if (!is_read()) return;
    std::string backlog = std::exchange(backlog_, {});
    tell_output(backlog);
    if (exit_to_tell_ && !is_held()) tell_exit(*exit_to_tell_);
  }

  // Takes a part of what waits in the pipe, as a slow reader would.
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
        if (envelope.method == "exit")
          exit_after(Duration{1}, {pool::ExitStatus::Kind::exited, 0, {}});
        break;
      case rpc::MessageKind::result:
      case rpc::MessageKind::error:
        check_answer(envelope);
        break;
    }
  }
  void on_oversized_frame(std::string_view, size_t) override {}
  void on_broken_framing(const char*) override {}

  // A slot that may well be in use, with a generation that no run gets to.
  uint64_t invented_id() { return world_.pick(0, 9) | world_.pick(1000, 500'000) << 12; }

  void misbehave() {
    if (world_.chance(temper_.dies)) {
      const int code = world_.chance(0.5) ? 3 : 0;
      exit_after(Duration{1}, world_.chance(0.5)
                                  ? pool::ExitStatus{pool::ExitStatus::Kind::exited, code, {}}
                                  : pool::ExitStatus{pool::ExitStatus::Kind::signaled, 9, {}});
    }
    if (world_.chance(temper_.closes_stdout)) {
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
    if (world_.chance(temper_.asks_the_client)) ask("", Duration{1});
  }

  // `cause`: empty, or members of params that say whose call is behind it.
  void ask(const std::string& cause, Duration delay) {
    const size_t number = asks_.size();
    asks_.push_back({std::string(kAskIds[world_.pick(0, kAskIds.size() - 1)])});
    const std::string& id = asks_.back().id;
    ++unanswered_[id];
    say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"roots/list","params":{"ask":)" +
            std::to_string(number) + cause + "," + stamp() + "}}",
        delay);
    if (world_.chance(temper_.cancels_its_ask)) {
      say(cancel_text(temper_.protocol, id),
          delay + world_.pick_duration(Duration{1}, std::chrono::seconds(2)));
    }
  }

  // Speaks because of a request until the work is done, cancelled or not.
  void talk(const rpc::Envelope& request, Duration work) {
    if (!world_.chance(temper_.talks)) return;
    const auto by = rpc::find_member(request.params, "by");
    if (!by) return;
    const std::string cause = R"(,"by":)" + std::string(*by);
    for (uint64_t i = world_.pick(1, 5); i > 0; --i) {
      const Duration delay = world_.pick_duration(Duration{0}, work);
      if (world_.chance(0.4)) {
        ask(cause, delay);
      } else {
        say(R"({"jsonrpc":"2.0","method":"note","params":{)" + stamp() + cause + "}}", delay);
      }
    }
  }

  // Once to each request, under its own id, and by the one that was asked. The gateway's own
  // answers do not name the request, so of those there may only be no more than requests.
  void check_answer(const rpc::Envelope& answer) {
    EXPECT_GE(--unanswered_[std::string(answer.id)], 0) << "answered twice: " << answer.text;
    const auto data = answer.kind == rpc::MessageKind::result
                          ? answer.payload
                          : rpc::find_member(answer.payload, "data");
    if (!data) return;
    const auto number = rpc::find_member(*data, "ask").value_or("none");
    const auto from = rpc::find_member(*data, "from").value_or("none");
    EXPECT_EQ(from, std::to_string(pid_)) << "another child asked that";
    const size_t index = std::stoul(std::string(number));
    ASSERT_LT(index, asks_.size()) << answer.text;
    EXPECT_EQ(asks_[index].id, answer.id);
    EXPECT_FALSE(std::exchange(asks_[index].is_answered, true))
        << "answered twice: " << answer.text;
  }

  void answer(const rpc::Envelope& request) {
    if (world_.chance(temper_.ignores)) return talk(request, temper_.longest_work);
    const std::string head = R"({"jsonrpc":"2.0","id":)" + std::string(request.id);
    const Duration delay = world_.pick_duration(Duration{1}, world_.chance(temper_.takes_long)
                                                                 ? temper_.longest_work
                                                                 : temper_.slowest_answer);
    talk(request, delay);
    if (request.method == "initialize") {
      EXPECT_EQ(rpc::find_member(request.params, "processId").value_or("null"), "null");
      say(head + R"(,"result":{"protocolVersion":"2025-11-25","capabilities":{}}})", delay);
      return;
    }
    const auto meta = rpc::find_member(request.params, "_meta");
    const auto token = meta ? rpc::find_member(*meta, "progressToken") : meta;
    if (token && world_.chance(temper_.sends_progress)) {
      say(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" +
              std::string(*token) + R"(,"progress":1,"nonce":)" + nonce(request) + "," + stamp() +
              "}}",
          delay / 2);
    }
    if (world_.chance(temper_.breaks_answer)) {
      say(head + R"(,"result":1,"error":{"code":1,"message":"both"}})", delay);
    } else if (world_.chance(temper_.oversizes_answer)) {
      say(head + R"(,"result":")" + std::string(kOversize, 'x') + "\"}", delay);
    } else {
      say(head + R"(,"result":{"nonce":)" + nonce(request) + "," + stamp() + "}}", delay);
      if (world_.chance(temper_.answers_twice)) {
        say(head + R"(,"result":"again"})", delay + std::chrono::milliseconds(1));
      }
    }
  }

  static std::string nonce(const rpc::Envelope& request) {
    return std::string(rpc::find_member(request.params, "nonce").value_or("null"));
  }

  [[nodiscard]] std::string stamp() const {
    return R"("from":)" + std::to_string(pid_) + R"(,"seq":)" + kSeq;
  }

  // One message of output, delivered in pieces but never mixed with another.
  void say(std::string text, Duration delay) {
    later(delay, [text = std::move(text)](SimChild& self) mutable {
      std::string line = self.framed(std::move(text));
      if (self.is_held()) {
        self.backlog_ += line;
        return;
      }
      size_t at = 0;
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

  // A request of its own.
  struct Ask {
    std::string id;
    bool is_answered = false;
  };

  SimWorld& world_;
  const Temper& temper_;
  const int pid_;
  std::vector<Ask> asks_;
  std::map<std::string, int> unanswered_;  // by id
  uint64_t said_ = 0;                      // stamped messages
  bool stdin_closed_ = false;
  bool reading_ = false;
  std::string backlog_;
  std::optional<pool::ExitStatus> exit_to_tell_;
  std::unique_ptr<rpc::Framer> framer_;
  rpc::EnvelopeParser parser_;
};

std::unique_ptr<pool::ChildLink> SimLauncher::launch(const pool::LaunchSpec& /*spec*/,
                                                     pool::ChildEvents& events) {
  auto child = std::make_shared<SimChild>(world_, temper_, events, next_pid_++);
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
