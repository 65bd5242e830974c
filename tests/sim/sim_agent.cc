#include "tests/sim/sim_agent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "gateway/rpc/json_reader.h"
#include "tests/support/memory_child.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::sim {

namespace {
// The list is short, so that the questions of several agents use the same ids.
constexpr std::array<std::string_view, 5> kIds = {"1", "4096", R"("ask")", "null", R"("\u00e9")"};
constexpr Duration kShort = std::chrono::milliseconds(300);
}  // namespace

class SimAgent final : public test::MemoryChild, public std::enable_shared_from_this<SimAgent> {
 public:
  SimAgent(SimWorld& world, AgentTally& tally, double dies, pool::ChildEvents& events, int pid)
      : MemoryChild(events), world_(world), tally_(tally), dies_(dies), pid_(pid) {}

  void launch() {
    if (world_.chance(0.02)) return exit_after({pool::ExitStatus::Kind::not_started, 2, "no"});
    later(soon(), [](SimAgent& self) { self.tell_started(self.pid_); });
  }

 private:
  struct Prompt {
    std::string id;       // raw
    std::string session;  // raw
    std::string nonce;
    uint64_t steps = 0;
    size_t asks = 0;  // open questions
    bool is_cancelled = false;
    bool is_over = false;
  };
  struct Ask {
    std::string id;
    size_t prompt;
    bool is_over = false;
  };

  void write(std::span<const std::string_view> parts) override {
    if (stdin_closed_) return;
    MemoryChild::write(parts);
    later(soon(), [](SimAgent& self) {
      while (self.running() && self.has_line()) self.take(self.take_input_line());
    });
  }
  void set_reading(bool reading) override {
    MemoryChild::set_reading(reading);
    if (!reading) return tally_.note(AgentEvent::held);
    later(Duration{1}, [](SimAgent& self) { self.flush(); });
  }
  void end(Duration grace) override {
    stdin_closed_ = true;
    const Duration delay = grace == Duration{0} ? Duration{1} : soon();
    later(delay, [](SimAgent& self) { self.tell_exit({pool::ExitStatus::Kind::exited, 0, {}}); });
  }
  void exit_after(const pool::ExitStatus& status) {
    later(soon(), [status](SimAgent& self) { self.tell_exit(status); });
  }

  template <class Action>
  void later(Duration delay, Action action) {
    world_.after(delay, [weak = weak_from_this(), action]() mutable {
      const auto self = weak.lock();
      if (self && self->running()) action(*self);
    });
  }
  Duration soon() { return world_.pick_duration(Duration{1}, kShort); }

  void say(const std::string& text) {
    output_ += text + "\n";
    flush();
  }
  void flush() {
    if (!is_read() || !running()) return;
    std::string output = std::exchange(output_, {});
    if (!output.empty()) tell_output(output);
  }

  void take(const std::string& line) {
    const test::ParsedText message(line);
    const rpc::Envelope& envelope = message.envelope;
    if (world_.chance(dies_)) {
      tally_.note(AgentEvent::died);
      return exit_after({pool::ExitStatus::Kind::exited, 1, {}});
    }
    switch (envelope.kind) {
      case rpc::MessageKind::request:
        return serve(envelope, message.method());
      case rpc::MessageKind::notification:
        return note(envelope, message.method());
      default:
        return take_answer(envelope);
    }
  }

  void serve(const rpc::Envelope& request, const std::string& method) {
    const std::string head = R"({"jsonrpc":"2.0","id":)" + std::string(request.id);
    if (method == "initialize") {
      return say(head + R"(,"result":{"protocolVersion":1,"agentCapabilities":{}}})");
    }
    if (method == "session/new") {
      const std::string name = "s-" + std::to_string(pid_) + "-" + std::to_string(++sessions_);
      say(head + R"(,"result":{"sessionId":")" + name + R"("}})");
      // Agents that have commands send an update before the first prompt.
      if (world_.chance(0.5)) update('"' + name + '"');
      return;
    }
    Prompt& prompt = prompts_.emplace_back();
    prompt.id = request.id;
    prompt.session = rpc::member_or_empty(request.params, "sessionId");
    prompt.nonce = rpc::member_or_empty(request.params, "nonce");
    prompt.steps = world_.pick(0, 6);
    step_later(prompts_.size() - 1);
  }

  void note(const rpc::Envelope& notification, const std::string& method) {
    for (size_t i = 0; i < prompts_.size(); ++i) {
      Prompt& prompt = prompts_[i];
      const bool is_meant =
          method == "session/cancel"
              ? prompt.session == rpc::member_or_empty(notification.params, "sessionId")
              : prompt.id == rpc::member_or_empty(notification.params, "requestId");
      if (prompt.is_over || !is_meant) continue;
      prompt.is_cancelled = true;
      step_later(i);
    }
  }

  void step_later(size_t prompt) {
    later(world_.pick_duration(Duration{1}, world_.chance(0.1) ? 20 * kShort : kShort),
          [prompt](SimAgent& self) { self.step(prompt); });
  }

  void step(size_t number) {
    Prompt& prompt = prompts_[number];
    if (prompt.is_over) return;
    if (prompt.is_cancelled || prompt.steps == 0) return finish(prompt);
    --prompt.steps;
    if (world_.chance(0.4)) {
      ask(number);
      // The agent waits for the answer, or continues in the meantime.
      if (prompts_[number].asks > 0 && world_.chance(0.7)) return;
    } else {
      update(prompt.session);
    }
    step_later(number);
  }

  void finish(Prompt& prompt) {
    prompt.is_over = true;
    if (prompt.asks > 0) tally_.note(AgentEvent::ended_with_open);
    if (prompt.is_cancelled) tally_.note(AgentEvent::cancelled);
    say(R"({"jsonrpc":"2.0","id":)" + prompt.id + R"(,"result":{"stopReason":")" +
        (prompt.is_cancelled ? "cancelled" : "end_turn") + R"(","nonce":)" + prompt.nonce +
        R"(,"said":)" + std::to_string(said_[prompt.session]) + "}}");
  }

  void update(const std::string& session) {
    say(R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":)" + session +
        R"(,"seq":)" + std::to_string(++said_[session]) + "}}");
  }

  void ask(size_t prompt) {
    const auto is_open = [this](std::string_view id) {
      return std::ranges::any_of(asks_,
                                 [id](const Ask& ask) { return !ask.is_over && ask.id == id; });
    };
    const std::string_view id = kIds[world_.pick(0, kIds.size() - 1)];
    if (is_open(id)) return;
    tally_.note(AgentEvent::asked);
    ++prompts_[prompt].asks;
    asks_.push_back({std::string(id), prompt});
    const size_t number = asks_.size() - 1;
    say(R"({"jsonrpc":"2.0","id":)" + std::string(id) +
        R"(,"method":"session/request_permission","params":{"sessionId":)" +
        prompts_[prompt].session + R"(,"ask":)" + std::to_string(number) + R"(,"pid":)" +
        std::to_string(pid_) + "}}");
    if (!world_.chance(0.15)) return;
    later(10 * soon(), [number](SimAgent& self) {
      const Ask& open = self.asks_[number];
      if (open.is_over) return;
      self.tally_.note(AgentEvent::taken_back);
      self.say(R"({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":)" + open.id +
               "}}");
    });
  }

  void take_answer(const rpc::Envelope& answer) {
    const auto ask = std::ranges::find_if(
        asks_, [&](const Ask& one) { return !one.is_over && one.id == answer.id; });
    ASSERT_NE(ask, asks_.end()) << "nothing is open that this answers: " << answer.text;
    const auto number = static_cast<size_t>(ask - asks_.begin());
    if (answer.kind == rpc::MessageKind::result) {
      tally_.note(AgentEvent::answered);
      EXPECT_EQ(rpc::member_or_empty(answer.payload, "ask"), std::to_string(number));
      EXPECT_EQ(rpc::member_or_empty(answer.payload, "pid"), std::to_string(pid_));
    } else if (answer.text.find("timeouts.input") != std::string_view::npos) {
      tally_.note(AgentEvent::expired);
    }
    ask->is_over = true;
    --prompts_[ask->prompt].asks;
    step_later(ask->prompt);
  }

  SimWorld& world_;
  AgentTally& tally_;
  const double dies_;
  const int pid_;
  bool stdin_closed_ = false;
  std::string output_;  // not taken yet
  size_t sessions_ = 0;
  std::vector<Prompt> prompts_;
  std::vector<Ask> asks_;
  std::map<std::string, uint64_t> said_;  // number of updates, by session
};

std::unique_ptr<pool::ChildLink> SimAgents::launch(const pool::LaunchSpec& /*spec*/,
                                                   pool::ChildEvents& events) {
  auto agent = std::make_shared<SimAgent>(world_, tally_, dies_, events, next_pid_++);
  agents_.push_back(agent);
  agent->launch();
  return test::MemoryChild::link_to(std::move(agent));
}

size_t SimAgents::running() const {
  return static_cast<size_t>(std::ranges::count_if(agents_, [](const auto& weak) {
    const auto agent = weak.lock();
    return agent && agent->running();
  }));
}

}  // namespace stdgate::sim
