#include "tests/sim/sim_modern_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "tests/sim/sim_options.h"

namespace stdgate::sim {

namespace {

constexpr std::array<std::string_view, 5> kModernIds = {"1", R"("1")", "12345678901234567890",
                                                        R"("\u00e9")", "7"};
constexpr std::array<std::string_view, 10> kCapabilities = {
    SimTasks::kCapabilities,
    SimTasks::kCapabilities,
    "{}",
    "{}",
    "{}",
    R"({"elicitation":{}})",
    R"({"elicitation":{"form":{},"url":{}}})",
    R"({"sampling":{}})",
    R"({"roots":{}})",
    R"({"sampling":{},"elicitation":{}})"};
constexpr std::array<std::string_view, 10> kMethods = {
    "tools/call",     "tools/call", "tools/call",     "tools/call",      "prompts/get",
    "resources/read", "tools/list", "resources/list", "server/discover", "subscriptions/listen"};

bool may_need_input(std::string_view method) {
  return method == "tools/call" || method == "prompts/get" || method == "resources/read";
}

bool is_kept(std::string_view method) {
  return method == "tools/list" || method == "resources/list" || method == "server/discover";
}

std::string unquoted(std::string_view raw) {
  return raw.size() < 2 ? std::string() : std::string(raw.substr(1, raw.size() - 2));
}

// The caller of the task, raw.
std::string said_by(const SimTask& task) {
  const std::string who = "{" + task.members + (task.members.empty() ? "" : ",") +
                          (task.of_meta.empty() ? R"("x":0)" : task.of_meta.substr(1)) + "}";
  return std::string(rpc::member_or_empty(who, "by"));
}

uint64_t number_of(std::string_view raw) {
  return raw.empty() || raw.front() < '0' || raw.front() > '9' ? 0 : std::stoull(std::string(raw));
}

}  // namespace

SimModernCalls::SimModernCalls(SimWorld& world, SimOwners& owners,
                               const backend::BackendOptions& options, backend::Backend& backend,
                               SimRecords& records, SimPrincipal principal, std::string client)
    : world_(world),
      owners_(owners),
      config_(options.config),
      input_timeout_(options.input_timeout),
      backend_(backend),
      records_(records),
      principal_(principal),
      client_(std::move(client)),
      caller_(owners.next_caller()) {
  records_.principals[caller_] = principal;
  records_.clients[caller_] = client_.empty() ? "#" + std::to_string(caller_) : client_;
}

// --- Requests ---------------------------------------------------------------------------------

SimTask SimModernCalls::new_task() {
  if (world_.chance(0.3)) {
    if (auto about_one = task_about_one()) return *std::move(about_one);
  }
  SimTask task;
  task.method = kMethods[world_.pick(0, kMethods.size() - 1)];
  task.capabilities = kCapabilities[world_.pick(0, kCapabilities.size() - 1)];
  task.nonce = std::to_string(world_.random()());
  const std::string who = R"("by":)" + std::to_string(caller_) + R"(,"nonce":)" + task.nonce;
  if (task.method == "subscriptions/listen") {
    task.members = R"("notifications":{"toolsListChanged":)" +
                   std::string(world_.chance(0.7) ? "true" : "false") +
                   (world_.chance(0.5) ? R"(,"resourceSubscriptions":["u:/1","u:/3"])" : "") + "}";
  }
  if (may_need_input(task.method)) {
    task.members = R"("name":"t","uri":"u:/1",)" + who;
  } else {
    task.of_meta = "," + who;
  }
  return task;
}

// A request about a task, most often about a task of this client.
std::optional<SimTask> SimModernCalls::task_about_one() {
  const SimTasks::Known* known = nullptr;
  for (int i = 0; i < 4 && (known == nullptr || known->principal != principal_); ++i) {
    known = records_.tasks.some();
  }
  if (known == nullptr) return std::nullopt;
  SimTask task;
  task.nonce = std::to_string(world_.random()());
  task.capabilities = SimTasks::kCapabilities;
  task.of_meta = R"(,"by":)" + std::to_string(caller_) + R"(,"nonce":)" + task.nonce;
  if (world_.chance(0.3)) {
    const SimTasks::Known* const second = records_.tasks.some();
    task.method = "subscriptions/listen";
    task.members = R"("notifications":{"toolsListChanged":true,"taskIds":[")" + known->text +
                   R"(",")" + second->text + R"(","t-1"]})";
    return task;
  }
  task.method = world_.chance(0.8) ? "tasks/get" : "tasks/cancel";
  task.task = world_.chance(0.05) ? "t-1" : known->text;
  task.members = R"("taskId":")" + task.task + "\"";
  return task;
}

SimModernCalls::Request SimModernCalls::make(const SimTask& task, const Retry& retry) {
  Call call;
  call.task = task;
  call.id = kModernIds[world_.pick(0, kModernIds.size() - 1)];
  call.listens = task.method == "subscriptions/listen";
  std::string meta = "\"" + std::string(mcp::kVersionKey) + R"(":"2026-07-28",")" +
                     std::string(mcp::kClientInfoKey) + R"(":{"name":"sim","version":"1"},")" +
                     std::string(mcp::kClientCapabilitiesKey) + "\":" + task.capabilities +
                     R"(,"modern":true)" + task.of_meta;
  if (world_.chance(0.2)) {
    call.level = world_.chance(0.5) ? session::Severity::error : session::Severity::debug;
    meta.append(",\"").append(mcp::kLogLevelKey).append("\":\"");
    meta.append(session::severity_name(*call.level)).append("\"");
  }
  if (world_.chance(0.4) && !call.listens) {
    call.token = world_.chance(0.5) ? "1" : R"("token")";
    meta += R"(,"progressToken":)" + call.token;
  }
  std::string params = R"("_meta":{)" + meta + "}";
  if (!task.members.empty()) {
    params = world_.chance(0.5) ? task.members + "," + params : params + "," + task.members;
  }
  if (!retry.answers.empty()) params += R"(,"inputResponses":{)" + retry.answers + "}";
  if (!retry.state.empty()) {
    params += R"(,"requestState":")" + retry.state + "\"";
    call.claim = claim_of(task, retry.state);
    call.state = records_.states.find(retry.state);
    if (call.state != nullptr) {
      call.state_ends = call.state->ends_first;
      if (call.claim == Claim::good || call.claim == Claim::doubtful) call.state->is_used = true;
    }
  }
  if (const SimTasks::Known* const known = records_.tasks.find(task.task)) {
    call.had_child = known->principal == principal_ && is_served(known->pid);
  }
  std::optional<Duration> timeout;
  if (world_.chance(0.4)) timeout = world_.pick_duration(Duration{1}, 2 * config_.timeout);
  call.times = {world_.now(), timeout.value_or(config_.timeout)};
  records_.life.forget(task.nonce);
  for (auto& [tag, other] : open_) {
    if (other.task.nonce == task.nonce) other.is_twice = call.is_twice = true;
  }
  const session::Tag tag = next_tag_++;
  std::string text = R"({"jsonrpc":"2.0","id":)" + call.id + R"(,"method":")" + task.method +
                     R"(","params":{)" + params + "}}";
  open_[tag] = std::move(call);
  ++requests_;
  return {tag, std::move(text), timeout};
}

SimModernCalls::Claim SimModernCalls::claim_of(const SimTask& task, const std::string& text) {
  if (text.starts_with("m-")) return Claim::none;  // the state of a modern child
  const SimStates::State* const state = records_.states.find(text);
  if (state == nullptr) return Claim::forged;
  if (state->principal != principal_) return Claim::of_other;
  if (state->pid != 0) {
    if (world_.now() >= state->ends_last) return Claim::late;
    return is_served(*state) ? Claim::good : Claim::doubtful;
  }
  if (state->method != task.method || state->members != task.members) return Claim::of_request;
  if (state->is_used && !state->is_in_doubt) return Claim::used;
  if (world_.now() >= state->ends_last) return Claim::late;
  const pool::BackendStatus status = backend_.status();
  // The gateway remembers only `pool.parked` of the calls whose child has ended.
  const bool is_known = !state->is_lost || records_.states.lost() <= config_.pool.parked;
  const bool is_certain = is_known && !state->is_in_doubt && world_.now() < state->ends_first &&
                          status.peer_kind == PeerKind::stateful &&
                          status.reason != "shutting down";
  return is_certain ? Claim::good : Claim::doubtful;
}

bool SimModernCalls::is_served(int64_t pid) const {
  const pool::BackendStatus status = backend_.status();
  return std::ranges::any_of(status.children, [pid](const pool::ChildStatus& child) {
    return child.pid == pid &&
           (child.state == ChildState::ready || child.state == ChildState::busy);
  });
}

std::string SimModernCalls::answer_to(const SimNeeded::Question& question) const {
  const std::string action = world_.chance(0.9) ? "accept" : "decline";
  return question.key + R"(:{"action":")" + action + R"(","content":{},"roots":[])" + question.ask +
         R"(,"by":)" + std::to_string(caller_) + "}";
}

std::optional<std::string> SimModernCalls::some_id() const {
  if (open_.empty()) return std::nullopt;
  return std::next(open_.begin(), static_cast<ptrdiff_t>(world_.pick(0, open_.size() - 1)))
      ->second.id;
}

size_t SimModernCalls::listening() const {
  size_t most = 0;
  for (const auto& [tag, call] : open_) {
    // Two tasks may run in two processes, and the gateway listens at both.
    const bool names_tasks = call.task.members.find("taskIds") != std::string::npos;
    if (call.listens) most += names_tasks ? 2 : 1;
  }
  return most;
}

// --- Replies ----------------------------------------------------------------------------------

std::optional<SimNeeded> SimModernCalls::check_reply(session::Tag tag,
                                                     const session::Reply& reply) {
  const std::string text =
      std::string(reply.head) + std::string(reply.id) + std::string(reply.tail);
  const auto node = open_.extract(tag);
  EXPECT_FALSE(node.empty()) << "a second answer, or one to another client's call: " << text;
  if (node.empty()) return std::nullopt;
  const Call& call = node.mapped();
  const std::string head = R"({"jsonrpc":"2.0","id":)" + call.id + ",";
  EXPECT_EQ(text.substr(0, head.size()), head);
  check_time(call, reply, text);
  if (reply.fault) {
    check_fault(call, reply);
    note_unanswered(call);
  } else if (const auto result = rpc::find_member(text, "result")) {
    if (rpc::member_or_empty(*result, "resultType") == R"("input_required")") {
      return check_needed(call, *result);
    }
    if (rpc::member_or_empty(*result, "resultType") == R"("task")") {
      check_task_given(call, *result);
      return std::nullopt;
    }
    EXPECT_EQ(rpc::member_or_empty(*result, "resultType"), R"("complete")") << text;
    check_complete(call, *result);
  } else {
    check_error(call, rpc::member_or_empty(text, "error"));
  }
  return std::nullopt;
}

void SimModernCalls::check_time(const Call& call, const session::Reply& reply,
                                std::string_view text) const {
  if (call.listens) return;
  const TimePoint latest = call.times.arrived + config_.max_time;
  EXPECT_LE(world_.now(), latest) << "a call outlives its max_time";
  if (reply.fault != rpc::Fault::timeout) return;
  if (text.find("max_time") != std::string_view::npos) {
    EXPECT_EQ(world_.now(), latest) << text;
    world_.tally().note(Seen::too_long);
  } else {
    records_.life.check_given_up(call.task.nonce, call.times,
                                 {.reports = !call.token.empty() && !call.is_twice});
  }
}

void SimModernCalls::check_fault(const Call& call, const session::Reply& reply) const {
  const bool may_be =
      reply.fault == rpc::Fault::timeout || reply.fault == rpc::Fault::child_failed ||
      reply.fault == rpc::Fault::overloaded || reply.fault == rpc::Fault::rate_limited ||
      reply.fault == rpc::Fault::too_large || reply.fault == rpc::Fault::internal;
  EXPECT_TRUE(may_be) << rpc::fault_name(*reply.fault) << " of " << call.task.method;
}

// Whether the call is refused because no legacy child can serve it: its client cannot be asked.
bool SimModernCalls::is_alone_refused(const Call& call) const {
  const bool is_strict = config_.isolation == config::Isolation::session;
  return !config_.bridges() ||
         (!can_serve_alone(config_) && (is_strict || call.task.capabilities != "{}"));
}

void SimModernCalls::check_error(const Call& call, std::string_view error) {
  const std::string_view code = rpc::member_or_empty(error, "code");
  const std::string message = unquoted(rpc::member_or_empty(error, "message"));
  const std::string_view data = rpc::member_or_empty(error, "data");
  if (const std::string_view nonce = rpc::member_or_empty(data, "nonce"); !nonce.empty()) {
    EXPECT_EQ(nonce, call.task.nonce) << "another call's error: " << error;
    return;
  }
  if (message == "Task not found") {
    EXPECT_EQ(code, "-32602");
    check_task_refused(call);
  } else if (message == "requestState is not valid") {
    EXPECT_EQ(code, "-32602");
    // A request that waits for the list of tools may come too late.
    const bool is_lost = call.state != nullptr && call.state->pid != 0 && !is_served(*call.state);
    EXPECT_FALSE(call.claim == Claim::good && world_.now() < call.state_ends && !is_lost)
        << "its own state, in time, is refused";
    if (is_lost) world_.tally().note(Seen::state_lost);
    EXPECT_NE(call.claim, Claim::none);
    constexpr std::array<std::pair<Claim, Seen>, 5> kRefused = {
        {{Claim::forged, Seen::state_forged},
         {Claim::used, Seen::state_used},
         {Claim::late, Seen::state_late},
         {Claim::of_other, Seen::state_of_other},
         {Claim::of_request, Seen::state_of_request}}};
    for (const auto& [claim, seen] : kRefused) {
      if (call.claim == claim) world_.tally().note(seen);
    }
  } else if (code == "-32022") {
    if (message == "no") return;  // the child's own error
    EXPECT_TRUE(is_alone_refused(call)) << error;
    world_.tally().note(Seen::wrong_era);
  } else if (code == "-32021") {
    EXPECT_FALSE(rpc::member_or_empty(data, "requiredCapabilities").empty()) << error;
    world_.tally().note(Seen::lacked_capability);
  } else {
    const bool is_declined = message == "the client has declined what this needs";
    EXPECT_TRUE(is_declined) << call.task.method << ": " << error;
    check_accepted(call);
  }
}

// The state was accepted, so it must be valid, and no other request may have been accepted with it.
void SimModernCalls::check_accepted(const Call& call) const {
  if (call.claim == Claim::none) return;
  // The request that had used the state may have ended without using it up, see note_unanswered().
  const bool is_left = call.claim == Claim::used && call.state->is_in_doubt;
  EXPECT_TRUE(call.claim == Claim::good || call.claim == Claim::doubtful || is_left)
      << "a state is taken that is no good: " << static_cast<int>(call.claim);
  if (call.state == nullptr || call.state->pid != 0) return;
  EXPECT_FALSE(std::exchange(call.state->is_accepted, true)) << "a state is taken twice";
}

// A request may end before its state is read, because it waits for the list of tools or finds no
// room to wait. The request is then refused for the time being, and its client may send the state
// again. A test cannot see whether the state was read, so both outcomes are right from now on. The
// state is accepted at most once.
void SimModernCalls::note_unanswered(const Call& call) {
  const bool has_used = call.claim == Claim::good || call.claim == Claim::doubtful;
  if (has_used && call.state != nullptr) call.state->is_in_doubt = true;
}

void SimModernCalls::forget_all() {
  for (const auto& [tag, call] : open_) note_unanswered(call);
  open_.clear();
}

void SimModernCalls::check_complete(const Call& call, std::string_view result) {
  check_accepted(call);
  if (call.listens) {
    EXPECT_EQ(rpc::member_or_empty(rpc::member_or_empty(result, "_meta"), mcp::kSubscriptionKey),
              call.id)
        << result;
    world_.tally().note(Seen::listening_ended);
    return;
  }
  // The answer is made from a legacy child's greeting, which belongs to no client.
  if (call.task.method == "server/discover" && rpc::member_or_empty(result, "nonce").empty())
    return;
  const std::string nonce(rpc::member_or_empty(result, "nonce"));
  if (nonce != call.task.nonce) {
    EXPECT_TRUE(is_kept(call.task.method)) << "another call's answer: " << result;
    if (world_.is_remembered()) return records_.kept.check_remembered(nonce, call.task.method);
    return records_.kept.check_hit(nonce, call.task.method, principal_,
                                   number_of(rpc::member_or_empty(result, "ttlMs")));
  }
  EXPECT_EQ(rpc::member_or_empty(result, "by"), said_by(call.task)) << result;
  if (call.claim != Claim::none) world_.tally().note(Seen::answered_after_resume);
  if (!call.task.task.empty()) check_task_reached(call, result);
  check_child(call, result);
}

// --- Tasks ------------------------------------------------------------------------------------

void SimModernCalls::check_task_given(const Call& call, std::string_view result) {
  check_accepted(call);
  EXPECT_EQ(call.task.method, "tools/call") << result;
  EXPECT_EQ(rpc::member_or_empty(result, "nonce"), call.task.nonce) << "another call's task";
  check_child(call, result);
  if (!records_.is_sticky) return;
  world_.tally().note(Seen::task_given);
  const std::string text = unquoted(rpc::member_or_empty(result, "taskId"));
  const std::string raw = unquoted(rpc::member_or_empty(result, "raw"));
  EXPECT_NE(text, raw) << "it is not sealed";
  records_.tasks.note_given(
      text, static_cast<int64_t>(number_of(rpc::member_or_empty(result, "from"))), raw, principal_);
}

void SimModernCalls::check_task_reached(const Call& call, std::string_view result) const {
  const std::string_view raw = rpc::member_or_empty(result, "raw");
  if (raw.empty()) return;  // a legacy child, which knows no tasks
  const SimTasks::Known* const known = records_.tasks.find(call.task.task);
  ASSERT_NE(known, nullptr) << "a task that nobody was given is reached: " << result;
  EXPECT_EQ(known->principal, principal_) << "another client's task is reached: " << result;
  EXPECT_EQ(number_of(rpc::member_or_empty(result, "from")), static_cast<uint64_t>(known->pid))
      << "another process was asked: " << result;
  EXPECT_EQ(unquoted(raw), known->raw) << result;
  EXPECT_EQ(unquoted(rpc::member_or_empty(result, "taskId")), known->text)
      << "a task has another id than before";
  world_.tally().note(Seen::task_reached);
}

void SimModernCalls::check_task_refused(const Call& call) {
  EXPECT_FALSE(call.task.task.empty()) << call.task.method;
  const SimTasks::Known* const known = records_.tasks.find(call.task.task);
  if (known == nullptr) return;
  if (known->principal != principal_) return world_.tally().note(Seen::task_of_other);
  EXPECT_FALSE(call.had_child && is_served(known->pid)) << "its own task is refused";
  world_.tally().note(Seen::task_lost);
}

// Checks which process serves which client.
void SimModernCalls::check_child(const Call& call, std::string_view result) {
  const auto from = static_cast<int64_t>(number_of(rpc::member_or_empty(result, "from")));
  EXPECT_TRUE(records_.heard.emplace(from, number_of(rpc::member_or_empty(result, "seq"))).second)
      << "an answer is given twice: " << result;
  if (rpc::member_or_empty(result, "own").empty()) {
    owners_.claim(from, SimOwners::kNoSession, !rpc::member_or_empty(result, "era").empty());
    return;
  }
  world_.tally().note(Seen::own_lane);
  if (owners_.are_exclusive()) {
    auto& number = records_.owners[client_.empty() ? call.task.nonce : client_];
    if (number == 0) number = owners_.next();
    owners_.claim_own(from, number);
  }
  const std::string_view told = rpc::member_or_empty(result, "told");
  if (told.empty() || config_.serves_one) return;
  EXPECT_EQ(records_.clients[number_of(told)], records_.clients[caller_])
      << "a child knows the roots of another client";
}

std::optional<SimNeeded> SimModernCalls::check_needed(const Call& call, std::string_view result) {
  check_accepted(call);
  EXPECT_TRUE(may_need_input(call.task.method)) << result;
  SimNeeded needed{call.task, unquoted(rpc::member_or_empty(result, "requestState")), {}};
  const bool is_of_child = !rpc::member_or_empty(result, "nonce").empty();
  if (is_of_child) {
    EXPECT_EQ(rpc::member_or_empty(result, "nonce"), call.task.nonce)
        << "another call's questions: " << result;
    world_.tally().note(Seen::modern_input);
  }
  rpc::JsonCursor cursor(rpc::member_or_empty(result, "inputRequests"));
  if (cursor.take('{') && !cursor.take('}')) {
    do {
      const std::string key(cursor.take_string());
      cursor.take(':');
      const std::string_view request = cursor.take_value();
      const std::string_view params = rpc::member_or_empty(request, "params");
      const std::string method = unquoted(rpc::member_or_empty(request, "method"));
      const std::string capability = method.substr(0, method.find('/'));
      const bool is_declared = !rpc::member_or_empty(call.task.capabilities, capability).empty();
      EXPECT_TRUE(is_of_child || is_declared) << "asked what it cannot answer: " << request;
      const std::string_view nonce = rpc::member_or_empty(params, "nonce");
      // With one principal, the call that has the turn is asked the questions of all calls.
      if (!nonce.empty() && !config_.serves_one) {
        EXPECT_EQ(nonce, call.task.nonce) << "another call's question: " << request;
      }
      std::string ask;
      if (const std::string_view number = rpc::member_or_empty(params, "ask"); !number.empty()) {
        ask = R"(,"ask":)" + std::string(number) + R"(,"from":)" +
              std::string(rpc::member_or_empty(params, "from"));
      }
      needed.questions.push_back({key, ask});
    } while (cursor.take(','));
  }
  if (!is_of_child) {
    note_state(call, needed);
  } else if (!needed.state.empty() && !needed.state.starts_with("m-")) {
    note_given(call, needed, result);
  }
  return needed;
}

void SimModernCalls::note_state(const Call& call, const SimNeeded& needed) {
  EXPECT_NE(call.task.capabilities, "{}");
  EXPECT_FALSE(needed.questions.empty());
  if (config_.serves_one) world_.tally().note(Seen::asked_in_turn);
  if (call.claim != Claim::none) world_.tally().note(Seen::parked_again);
  const TimePoint last = world_.now() + input_timeout_;
  // An answer to an open question extends the time of a retry. The client cannot know whether it
  // was one.
  const bool gains_time = call.claim == Claim::none;
  records_.states.issue({needed.state, 0, principal_, call.task.method, call.task.members,
                         call.task.nonce, call.task.capabilities,
                         gains_time ? last : call.state_ends, last});
}

void SimModernCalls::note_given(const Call& call, const SimNeeded& needed,
                                std::string_view result) {
  EXPECT_TRUE(records_.is_sticky);
  const TimePoint end = world_.now() + input_timeout_;
  const auto pid = static_cast<int64_t>(number_of(rpc::member_or_empty(result, "from")));
  records_.states.issue({needed.state, pid, principal_, call.task.method, call.task.members,
                         call.task.nonce, call.task.capabilities, end, end});
}

void SimModernCalls::check_cancelled(session::Tag tag) {
  world_.tally().note(Seen::cancelled);
  const auto node = open_.extract(tag);
  ASSERT_FALSE(node.empty()) << "a cancelled call was in flight";
  note_unanswered(node.mapped());
}

// --- Events -----------------------------------------------------------------------------------

void SimModernCalls::check_event(session::Tag tag, std::string_view notification) {
  const auto found = open_.find(tag);
  ASSERT_NE(found, open_.end()) << "an event for no call: " << notification;
  Call& call = found->second;
  const std::string method = unquoted(rpc::member_or_empty(notification, "method"));
  const std::string_view params = rpc::member_or_empty(notification, "params");
  if (call.listens) return check_stream(call, method, params);
  const std::string_view by = rpc::member_or_empty(params, "by");
  EXPECT_TRUE(by.empty() || by == said_by(call.task)) << "caused by another's: " << notification;
  if (method == "notifications/progress") {
    EXPECT_EQ(rpc::member_or_empty(params, "progressToken"), call.token) << notification;
    EXPECT_EQ(rpc::member_or_empty(params, "nonce"), call.task.nonce) << notification;
  } else if (method == "notifications/message") {
    EXPECT_EQ(rpc::member_or_empty(params, "nonce"), call.task.nonce) << notification;
    ASSERT_TRUE(call.level.has_value()) << "a log message that nobody wants: " << notification;
    EXPECT_GE(*session::parse_severity(unquoted(rpc::member_or_empty(params, "level"))),
              *call.level);
    world_.tally().note(Seen::logged);
  } else if (method != "notifications/cancelled") {
    // A child may cancel a question that no client has received. The notification reaches the only
    // call at the child.
    EXPECT_EQ(method, "note") << notification;
  }
}

void SimModernCalls::check_stream(Call& call, std::string_view method, std::string_view params) {
  EXPECT_EQ(rpc::member_or_empty(rpc::member_or_empty(params, "_meta"), mcp::kSubscriptionKey),
            call.id)
      << params;
  if (method == "notifications/subscriptions/acknowledged") {
    EXPECT_FALSE(std::exchange(call.has_begun, true)) << "acknowledged twice";
    return world_.tally().note(Seen::listened);
  }
  EXPECT_TRUE(call.has_begun) << "not acknowledged first: " << method;
  if (method == "notifications/resources/updated") {
    const std::string uri(rpc::member_or_empty(params, "uri"));
    EXPECT_NE(call.task.members.find(uri), std::string::npos) << "not asked for: " << params;
    return world_.tally().note(Seen::heard_update);
  }
  if (method == "notifications/tasks") {
    const SimTasks::Known* const known =
        records_.tasks.find(unquoted(rpc::member_or_empty(params, "taskId")));
    ASSERT_NE(known, nullptr) << "of a task that nobody was given: " << params;
    EXPECT_EQ(known->principal, principal_) << "of another client's task: " << params;
    EXPECT_EQ(number_of(rpc::member_or_empty(params, "from")), static_cast<uint64_t>(known->pid))
        << "by another process: " << params;
    return world_.tally().note(Seen::task_told);
  }
  EXPECT_EQ(method, "notifications/tools/list_changed");
  EXPECT_NE(call.task.members.find(R"("toolsListChanged":true)"), std::string::npos);
  // Changes that the gateway itself reports do not count: what a child has answered meanwhile stays
  // valid.
  if (!rpc::member_or_empty(params, "seq").empty()) records_.kept.note_change(method);
  world_.tally().note(Seen::heard_change);
}

}  // namespace stdgate::sim
