#include "tests/sim/sim_modern_side.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "tests/sim/sim_calls.h"

namespace stdgate::sim {

namespace {

constexpr unsigned kMostRounds = 12;  // more than the gateway allows

std::string_view request_meta(const rpc::Envelope& request) {
  return rpc::member_or_empty(request.params, "_meta");
}

std::string_view capabilities_of(const rpc::Envelope& request) {
  return rpc::member_or_empty(request_meta(request), mcp::kClientCapabilitiesKey);
}

std::string head_of(const rpc::Envelope& request) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(request.id);
}

std::string notification(std::string_view method, const std::string& params) {
  return R"({"jsonrpc":"2.0","method":"notifications/)" + std::string(method) + R"(","params":{)" +
         params + "}}";
}

bool may_ask(std::string_view method) {
  return method == "tools/call" || method == "prompts/get" || method == "resources/read";
}

// The requestState of an answer: the request, the number of rounds, the number of questions in this
// round, and the process.
std::string state_text(const std::string& nonce, unsigned round, size_t questions, int pid) {
  return "m-" + nonce + "-" + std::to_string(round) + "-" + std::to_string(questions) + "-" +
         std::to_string(pid);
}

}  // namespace

std::string SimModernSide::discovery() {
  return R"("supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},)"
         R"("prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},)"
         R"("logging":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})";
}

void SimModernSide::answer(const rpc::Envelope& request, Duration work) {
  if (request.method == "subscriptions/listen") return listen(request);
  log(request, work);
  if (request.method == "tools/list") return answer_kept(request, work, R"("tools":[])");
  if (request.method == "resources/list") return answer_kept(request, work, R"("resources":[])");
  if (request.method == "server/discover") return answer_kept(request, work, discovery());
  if (may_ask(request.method)) return answer_call(request, work);
  if (request.method.starts_with("tasks/")) return answer_about_task(request, work);
  complete(request, work, "");
}

void SimModernSide::complete(const rpc::Envelope& request, Duration work,
                             const std::string& members, std::function<void()> on_told) {
  voice_.say(head_of(request) + R"(,"result":{"resultType":"complete",)" +
                 (members.empty() ? "" : members + ",") + cause_of(request) + "," + voice_.stamp() +
                 "}}",
             work, std::move(on_told));
}

void SimModernSide::refuse(const rpc::Envelope& request, Duration work, int code,
                           std::string_view why) {
  voice_.say(head_of(request) + R"(,"error":{"code":)" + std::to_string(code) + R"(,"message":")" +
                 std::string(why) + R"(","data":{)" + cause_of(request) + "," + voice_.stamp() +
                 "}}}",
             work);
}

// Log messages are sent only for requests that want them, and some have a lower level than wanted.
void SimModernSide::log(const rpc::Envelope& request, Duration work) {
  if (rpc::member_or_empty(request_meta(request), mcp::kLogLevelKey).empty() || !world_.chance(0.5))
    return;
  const std::string level = world_.chance(0.5) ? "error" : "debug";
  voice_.say(notification("message", R"("level":")" + level + R"(","data":1,)" + cause_of(request) +
                                         "," + voice_.stamp()),
             world_.pick_duration(Duration{0}, work));
}

// --- Answers that may be cached ---------------------------------------------------------------

void SimModernSide::answer_kept(const rpc::Envelope& request, Duration work,
                                const std::string& members) {
  const bool is_kept = world_.chance(0.8);
  const bool is_public = world_.chance(0.5);
  const uint64_t ttl_ms = is_kept ? world_.pick(1, 20'000) : 0;
  const std::string nonce = said_in(request, "nonce");
  const std::string by = said_in(request, "by");
  const std::string method(request.method);
  const SimPrincipal principal = by.empty() ? 0 : records_.principal_of(std::stoull(by));
  complete(request, work,
           members + R"(,"ttlMs":)" + std::to_string(ttl_ms) + R"(,"cacheScope":)" +
               (is_public ? R"("public")" : R"("private")"),
           [this, nonce, method, principal, is_public, ttl_ms] {
             if (ttl_ms == 0) return;
             records_.kept.note_given(nonce, {method, principal, is_public,
                                              world_.now() + std::chrono::milliseconds(ttl_ms), 0});
           });
}

// --- Listening --------------------------------------------------------------------------------

void SimModernSide::listen(const rpc::Envelope& request) {
  const std::string tag =
      R"("_meta":{")" + std::string(mcp::kSubscriptionKey) + "\":" + std::string(request.id) + "}";
  const std::string_view wishes = rpc::member_or_empty(request.params, "notifications");
  const Duration first = world_.pick_duration(Duration{1}, std::chrono::milliseconds(200));
  voice_.say(notification("subscriptions/acknowledged",
                          tag + R"(,"notifications":)" + std::string(wishes)),
             first);
  Duration last = first;
  for (uint64_t left = world_.pick(0, 8); left > 0; --left) {
    const Duration at = world_.pick_duration(first, first + std::chrono::seconds(30));
    last = std::max(last, at);
    std::vector<std::string> events;
    for (const mcp::McpList& list : mcp::kMcpLists) {
      if (rpc::member_or_empty(wishes, list.wish) == "true") {
        events.push_back(std::string(list.capability) + "/list_changed");
      }
    }
    rpc::JsonCursor cursor(rpc::member_or_empty(wishes, mcp::kUpdatesWish));
    if (cursor.take('[') && !cursor.take(']')) {
      do {
        events.push_back(R"(resources/updated","params":{"uri":)" +
                         std::string(cursor.take_value()));
      } while (cursor.take(','));
    }
    for (std::string& event : task_events(wishes, principal_of(request))) {
      events.push_back(std::move(event));
    }
    if (events.empty()) break;
    const std::string& event = events[world_.pick(0, events.size() - 1)];
    const bool has_params = event.find(R"("params")") != std::string::npos;
    voice_.say(R"({"jsonrpc":"2.0","method":"notifications/)" + event +
                   (has_params ? "," : R"(","params":{)") + tag + "," + voice_.stamp() + "}}",
               at);
  }
  if (!world_.chance(0.2)) return;
  // A stream has two possible endings.
  const Duration end = last + Duration{1};
  if (world_.chance(0.5)) {
    voice_.say(head_of(request) + R"(,"result":{"resultType":"complete",)" + tag + "}}", end);
  } else {
    voice_.say(notification("cancelled", R"("requestId":)" + std::string(request.id)), end);
  }
}

// --- Tasks ------------------------------------------------------------------------------------

SimPrincipal SimModernSide::principal_of(const rpc::Envelope& request) const {
  const std::string by = said_in(request, "by");
  return by.empty() ? 0 : records_.principal_of(std::stoull(by));
}

std::vector<std::string> SimModernSide::task_events(std::string_view wishes,
                                                    SimPrincipal principal) {
  std::vector<std::string> events;
  rpc::JsonCursor cursor(rpc::member_or_empty(wishes, "taskIds"));
  if (!cursor.take('[') || cursor.take(']')) return events;
  do {
    const std::string_view quoted = cursor.take_string();
    const std::string raw(quoted.substr(1, quoted.size() - 2));
    const SimTasks::Task* const task = records_.tasks.find(voice_.pid(), raw);
    if (records_.is_sticky) {
      EXPECT_TRUE(task != nullptr && task->principal == principal)
          << "a stream names a task that is not its client's: " << wishes;
    }
    if (task == nullptr) continue;
    events.push_back(R"(tasks","params":{"taskId":")" + raw + R"(","status":"working","ttlMs":)" +
                     std::to_string(task->ttl / std::chrono::milliseconds(1)));
  } while (cursor.take(','));
  return events;
}

bool SimModernSide::begin_task(const rpc::Envelope& request, Duration work) {
  const bool is_wanted = request.method == "tools/call" && !said_in(request, "modern").empty() &&
                         capabilities_of(request) == SimTasks::kCapabilities;
  if (!is_wanted || !world_.chance(temper_.begins_task)) return false;
  const Duration ttl = std::chrono::seconds(world_.pick(1, 60));
  const std::string raw = records_.tasks.begin(voice_.pid(), principal_of(request), ttl);
  voice_.say(head_of(request) + R"(,"result":{"resultType":"task","taskId":")" + raw +
                 R"(","status":"working","ttlMs":)" +
                 std::to_string(ttl / std::chrono::milliseconds(1)) + R"(,"raw":")" + raw + "\"," +
                 cause_of(request) + "," + voice_.stamp() + "}}",
             work);
  // The notification belongs to no listening request, so no client may receive it.
  if (records_.is_sticky && world_.chance(0.3)) {
    voice_.say(
        notification("tasks", R"("taskId":")" + raw + R"(","status":"working",)" + voice_.stamp()),
        work + world_.pick_duration(Duration{1}, std::chrono::seconds(1)));
  }
  return true;
}

void SimModernSide::answer_about_task(const rpc::Envelope& request, Duration work) {
  const std::string quoted = said_in(request, "taskId");
  const std::string raw = quoted.size() < 2 ? "" : quoted.substr(1, quoted.size() - 2);
  SimTasks::Task* const task = records_.tasks.find(voice_.pid(), raw);
  if (records_.is_sticky) {
    EXPECT_TRUE(task != nullptr || raw == "unknown") << "a task of another process: " << raw;
    if (task != nullptr) {
      EXPECT_EQ(task->principal, principal_of(request)) << "a task of another client: " << raw;
    }
  }
  if (task == nullptr) return refuse(request, work, -32602, "no such task");
  task->has_ended = task->has_ended || request.method == "tasks/cancel" || world_.chance(0.2);
  const std::string members = R"("taskId":")" + raw + R"(","status":")" +
                              (task->has_ended ? "completed" : "working") + R"(","ttlMs":)" +
                              std::to_string(task->ttl / std::chrono::milliseconds(1)) +
                              R"(,"raw":")" + raw + "\"";
  complete(request, work, members, [this, raw] { records_.tasks.note_told(voice_.pid(), raw); });
}

// --- Calls and their questions ----------------------------------------------------------------

void SimModernSide::answer_call(const rpc::Envelope& request, Duration work) {
  const auto round = read_round(request);
  if (!round) return refuse(request, work, -32602, "unknown requestState");
  const bool is_known = !said_in(request, "nonce").empty();
  const bool can_ask = capabilities_of(request) != "{}" || world_.chance(0.02);
  const bool asks =
      is_known && can_ask && *round < kMostRounds && world_.chance(temper_.needs_input);
  if (begin_task(request, work)) return;
  if (asks) {
    ask(request, work, *round + 1);
  } else if (world_.chance(0.05)) {
    refuse(request, work, world_.chance(0.5) ? -32602 : 7, "no");
  } else {
    complete(request, work, R"("round":)" + std::to_string(*round));
  }
}

std::optional<unsigned> SimModernSide::read_round(const rpc::Envelope& request) {
  const std::string_view raw = rpc::member_or_empty(request.params, "requestState");
  if (raw.empty()) return 0;
  std::string state(raw.substr(1, raw.size() - 2));
  if (!state.starts_with("m-")) return std::nullopt;  // perhaps the state of a legacy child
  state.erase(0, 2);
  std::vector<std::string> parts;
  for (size_t at = 0; at <= state.size();) {
    const size_t end = std::min(state.find('-', at), state.size());
    parts.push_back(state.substr(at, end - at));
    at = end + 1;
  }
  if (parts.size() != 4) return std::nullopt;
  EXPECT_EQ(parts[0], said_in(request, "nonce")) << "the state of another request";
  if (records_.is_sticky) {
    EXPECT_EQ(parts[3], std::to_string(voice_.pid())) << "the state of another process";
  }
  const size_t asked = std::stoul(parts[2]);
  check_answers(request, rpc::member_or_empty(request.params, "inputResponses"), asked);
  const bool is_of_session = said_in(request, "modern").empty();
  world_.tally().note(is_of_session ? Seen::round_repeated : Seen::modern_resumed);
  return static_cast<unsigned>(std::stoul(parts[1]));
}

// Checks that each answer is from the client of this request, and belongs to this request.
void SimModernSide::check_answers(const rpc::Envelope& request, std::string_view answers,
                                  size_t asked) {
  const std::string nonce = said_in(request, "nonce");
  size_t count = 0;
  rpc::JsonCursor cursor(answers);
  if (cursor.take('{') && !cursor.take('}')) {
    do {
      const std::string_view key = cursor.take_string();
      cursor.take(':');
      const std::string_view value = cursor.take_value();
      EXPECT_TRUE(key.ends_with("-" + nonce + "\"")) << "not asked for this: " << request.text;
      EXPECT_EQ(rpc::member_or_empty(value, "by"), said_in(request, "by")) << request.text;
      ++count;
    } while (cursor.take(','));
  }
  // A modern client may omit answers; the gateway may not.
  if (said_in(request, "modern").empty()) {
    EXPECT_EQ(count, asked) << request.text;
  } else {
    EXPECT_LE(count, asked) << request.text;
  }
}

void SimModernSide::ask(const rpc::Envelope& request, Duration work, unsigned round) {
  std::vector<std::string_view> methods;
  const auto offer = [&](std::string_view capability, std::string_view method) {
    const bool is_declared = !rpc::member_or_empty(capabilities_of(request), capability).empty();
    if (is_declared || world_.chance(temper_.asks_undeclared / 4)) methods.push_back(method);
  };
  offer("elicitation", "elicitation/create");
  offer("sampling", "sampling/createMessage");
  offer("roots", "roots/list");
  const std::string nonce = said_in(request, "nonce");
  std::string questions;
  const size_t count = methods.empty() ? 0 : world_.pick(0, 3);
  for (size_t i = 0; i < count; ++i) {
    questions += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "-" + nonce + R"(":{"method":")" +
                 std::string(methods[world_.pick(0, methods.size() - 1)]) + R"(","params":{)" +
                 cause_of(request) + "}}";
  }
  std::string members = R"("resultType":"input_required")";
  if (!questions.empty()) members += R"(,"inputRequests":{)" + questions + "}";
  if (!world_.chance(0.01)) {
    members += R"(,"requestState":")" + state_text(nonce, round, count, voice_.pid()) + "\"";
  }
  voice_.say(head_of(request) + R"(,"result":{)" + members + "," + cause_of(request) + "," +
                 voice_.stamp() + "}}",
             work);
}

}  // namespace stdgate::sim
