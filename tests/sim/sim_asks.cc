#include "tests/sim/sim_asks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/sim/sim_calls.h"

namespace stdgate::sim {

namespace {

// The list is short, so that requests of one child, and of several children, use the same ids.
constexpr std::array<std::string_view, 6> kAskIds = {"1",    "4096", R"("ask")",
                                                     "-2.0", "null", R"("\u00e9")"};
struct Question {
  std::string_view method;
  std::string_view capability;
};
constexpr std::array<Question, 3> kQuestions = {{{"roots/list", "roots"},
                                                 {"elicitation/create", "elicitation"},
                                                 {"sampling/createMessage", "sampling"}}};

}  // namespace

void SimAsks::note_greeting(const rpc::Envelope& greeting) {
  const std::string_view declared = rpc::member_or_empty(greeting.params, "capabilities");
  if (!declared.empty()) declared_ = declared;
}

bool SimAsks::has_declared(std::string_view capability) const {
  return !rpc::member_or_empty(declared_, capability).empty();
}

std::string_view SimAsks::pick_method() {
  if (temper_.protocol != config::Protocol::mcp) return "roots/list";
  std::vector<std::string_view> methods;
  for (const Question& question : kQuestions) {
    if (has_declared(question.capability)) methods.push_back(question.method);
  }
  if (methods.empty() || world_.chance(temper_.asks_undeclared)) {
    return kQuestions[world_.pick(0, kQuestions.size() - 1)].method;
  }
  return methods[world_.pick(0, methods.size() - 1)];
}

std::string SimAsks::params_of(std::string_view method, size_t number) const {
  const Ask& ask = asks_[number];
  std::string params = R"({"ask":)" + std::to_string(number);
  if (!ask.by.empty()) params += R"(,"by":)" + ask.by + R"(,"nonce":)" + ask.nonce;
  if (method == "elicitation/create") params += R"(,"message":"?","requestedSchema":{})";
  if (method != "roots/list") params += R"(,"_meta":{"progressToken":"x"})";
  return params + "," + voice_.stamp() + "}";
}

void SimAsks::ask(const rpc::Envelope* cause, Duration delay, std::string_view method) {
  const size_t number = asks_.size();
  Ask& ask = asks_.emplace_back();
  ask.id = kAskIds[world_.pick(0, kAskIds.size() - 1)];
  ask.method = method.empty() ? pick_method() : method;
  if (cause != nullptr) {
    ask.by = said_in(*cause, "by");
    ask.nonce = said_in(*cause, "nonce");
    ++open_[ask.nonce];
  }
  ++unanswered_[ask.id];
  voice_.say(R"({"jsonrpc":"2.0","id":)" + ask.id + R"(,"method":")" + ask.method +
                 R"(","params":)" + params_of(ask.method, number) + "}",
             delay, [this, number] {
               asks_[number].told = world_.now();
               life_.note_asked(voice_.pid(), asks_[number].id);
             });
  if (world_.chance(temper_.cancels_its_ask)) {
    voice_.say(cancel_text(temper_.protocol, ask.id),
               delay + world_.pick_duration(Duration{1}, std::chrono::seconds(2)), [this, number] {
                 life_.note_ask_over(voice_.pid(), asks_[number].id);
                 finish(asks_[number]);
               });
  }
  if (temper_.protocol == config::Protocol::mcp && world_.chance(temper_.dies_when_asking)) {
    voice_.die_within(delay + std::chrono::seconds(5));
  }
}

std::set<std::string> SimAsks::asked() const {
  std::set<std::string> nonces;
  for (const Ask& ask : asks_) nonces.insert(ask.nonce);
  return nonces;
}

void SimAsks::say_after(const rpc::Envelope& cause, std::string text, Duration work) {
  waiting_[said_in(cause, "nonce")] = {std::move(text), world_.now() + work};
}

void SimAsks::finish(Ask& ask) {
  if (std::exchange(ask.is_over, true)) return;
  const auto open = open_.find(ask.nonce);
  if (open == open_.end() || --open->second > 0) return;
  open_.erase(open);
  const auto node = waiting_.extract(ask.nonce);
  if (node.empty()) return;
  const auto& [text, from] = node.mapped();
  const Duration soon = world_.pick_duration(Duration{1}, std::chrono::milliseconds(200));
  voice_.say(text, std::max<Duration>(soon, from - world_.now()));
}

// An answer that does not name the request is taken for the first open request with this id.
SimAsks::Ask* SimAsks::find(std::string_view id, std::optional<std::string_view> number) {
  if (number) {
    const size_t index = std::stoul(std::string(*number));
    return index < asks_.size() ? &asks_[index] : nullptr;
  }
  const auto found =
      std::ranges::find_if(asks_, [id](const Ask& ask) { return ask.id == id && !ask.is_over; });
  return found == asks_.end() ? nullptr : &*found;
}

// Each request is answered once, under its own id, by the client that was asked. The gateway's own
// answers do not name the request, so the check can only count that there are no more answers than
// requests.
void SimAsks::check_answer(const rpc::Envelope& answer) {
  EXPECT_GE(--unanswered_[std::string(answer.id)], 0) << "answered twice: " << answer.text;
  const std::string_view data = answer.kind == rpc::MessageKind::result
                                    ? answer.payload
                                    : rpc::member_or_empty(answer.payload, "data");
  const auto number = rpc::find_member(data, "ask");
  Ask* const ask = find(answer.id, number ? std::optional(*number) : std::nullopt);
  if (number) {
    ASSERT_NE(ask, nullptr) << answer.text;
    EXPECT_EQ(rpc::member_or_empty(data, "from"), std::to_string(voice_.pid()))
        << "another child asked that";
    EXPECT_EQ(ask->id, answer.id);
  }
  if (ask == nullptr) return;
  if (answer.text.find("timeouts.input") != std::string_view::npos) {
    const bool may_be_another = std::ranges::count(asks_, ask->id, &Ask::id) > 1;
    EXPECT_TRUE(may_be_another || world_.now() >= ask->told + life_.input_timeout())
        << "a question is withdrawn before its time";
    world_.tally().note(Seen::question_withdrawn);
  }
  if (number) {
    EXPECT_FALSE(std::exchange(ask->is_answered, true)) << "answered twice: " << answer.text;
  }
  const std::string_view by = rpc::member_or_empty(data, "by");
  if (!by.empty() && !ask->by.empty() && number && !temper_.serves_one) {
    EXPECT_EQ(by, ask->by) << "another client's answer: " << answer.text;
  }
  if (answer.kind == rpc::MessageKind::result && ask->method == "roots/list") told_roots_of_ = by;
  finish(*ask);
}

}  // namespace stdgate::sim
