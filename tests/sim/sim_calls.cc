#include "tests/sim/sim_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "gateway/rpc/json_reader.h"

namespace stdgate::sim {

namespace {

// The list is short, so that callers use the same ids all the time.
constexpr std::array<std::string_view, 6> kIds = {
    "1", R"("1")", "1.0", "12345678901234567890", R"("\u00e9")", "null"};
constexpr std::array<std::string_view, 3> kTokens = {"1", R"("token")", "7"};

int64_t number_in(std::string_view object, std::string_view key) {
  const auto member = rpc::find_member(object, key);
  return member ? std::stoll(std::string(*member)) : -1;
}

}  // namespace

void SimOwners::claim(int64_t pid, uint64_t owner, bool is_modern) {
  if (!are_exclusive()) return;
  if (is_modern) {
    EXPECT_TRUE(owner == kNoSession || shares_modern_) << "a session is not to share children";
    owner = kNoSession;
  }
  const auto known = owners_.emplace(pid, owner).first;
  EXPECT_EQ(known->second, owner) << "a child of somebody else is heard";
  if (owner == kNoSession) return;
  int64_t& newest = newest_[owner];
  EXPECT_GE(pid, newest) << "a child is heard that the session has not got any more";
  newest = std::max(newest, pid);
}

bool is_of_modern(std::string_view object) {
  return rpc::find_member(object, "era") == R"("modern")";
}

std::string cancel_text(config::Protocol protocol, std::string_view id) {
  const std::string head = protocol == config::Protocol::mcp
                               ? R"("notifications/cancelled","params":{"requestId":)"
                               : R"("$/cancelRequest","params":{"id":)";
  return R"({"jsonrpc":"2.0","method":)" + head + std::string(id) + "}}";
}

std::string SimCalls::pick_id() { return std::string(kIds[world_.pick(0, kIds.size() - 1)]); }

SimCalls::Request SimCalls::new_request(const std::string& method) {
  Call call;
  call.id = pick_id();
  call.nonce = std::to_string(world_.random()());
  if (world_.chance(0.5)) call.progress_token = kTokens[world_.pick(0, kTokens.size() - 1)];
  const std::string params = params_of(method, call);
  std::string text = world_.chance(0.5) ? R"({"jsonrpc":"2.0","id":)" + call.id + R"(,"method":")" +
                                              method + R"(","params":)" + params + "}"
                                        : R"({"params":)" + params + R"(,"method":")" + method +
                                              R"(","id":)" + call.id + R"(,"jsonrpc":"2.0"})";
  // The gateway may answer these methods itself.
  call.is_of_gateway = method == "initialize" || method == "logging/setLevel" ||
                       (method.starts_with("resources/") && method != "resources/read");
  call.may_be_asked = is_of_many_ && !call.is_of_gateway && method != "echo";
  std::optional<Duration> timeout;
  if (world_.chance(0.5)) timeout = world_.pick_duration(Duration{1}, 2 * timeout_);
  call.times = {world_.now(), timeout.value_or(timeout_)};
  const session::Tag tag = next_tag_++;
  open_[tag] = std::move(call);
  ++requests_;
  return {tag, std::move(text), timeout};
}

std::string_view SimCalls::pick_method() {
  if (protocol_ != config::Protocol::mcp) return "echo";
  constexpr std::array<std::string_view, 9> kMethods = {
      "tools/call",      "tools/call", "tools/call",          "prompts/get",
      "resources/read",  "echo",       "resources/subscribe", "resources/unsubscribe",
      "logging/setLevel"};
  return kMethods[world_.pick(0, is_of_many_ ? kMethods.size() - 1 : 5)];
}

std::string SimCalls::params_of(const std::string& method, const Call& call) {
  std::string params = R"({"by":)" + std::to_string(caller_) + R"(,"nonce":)" + call.nonce;
  if (!call.progress_token.empty()) {
    params += R"(,"_meta":{"progressToken":)" + call.progress_token + "}";
  }
  if (protocol_ == config::Protocol::mcp) {
    const std::string uri = world_.chance(0.5) ? R"("u:/1")" : R"("u:/2")";
    if (method == "resources/subscribe") subscribed_.insert(uri);
    params += R"(,"name":"t","level":"debug","uri":)" + uri;
    if (method == "initialize") {
      params += R"(,"protocolVersion":"2025-11-25","clientInfo":{"name":"s","version":"1"},)"
                R"("capabilities":)";
      params += world_.chance(0.7) ? R"({"elicitation":{},"sampling":{},"roots":{}})" : "{}";
    }
  }
  if (method == "initialize" && protocol_ == config::Protocol::lsp) params += R"(,"processId":12)";
  return params + "}";
}

SimCalls::Request SimCalls::new_broken_request() {
  const session::Tag tag = next_tag_++;
  Call& call = open_[tag];
  call.id = "5";
  call.is_of_gateway = true;
  ++requests_;
  return {tag, R"({"jsonrpc":"1.0","id":5,"method":"wrong"})"};
}

std::string SimCalls::new_cancel() { return cancel_text(protocol_, pick_id()); }

const SimCalls::Call* SimCalls::find(session::Tag tag) const {
  const auto call = open_.find(tag);
  return call == open_.end() ? nullptr : &call->second;
}

void SimCalls::check_reply(session::Tag tag, const session::Reply& reply) {
  const std::string text =
      std::string(reply.head) + std::string(reply.id) + std::string(reply.tail);
  const auto call = open_.find(tag);
  ASSERT_NE(call, open_.end()) << "a second answer, or one to another client's call: " << text;
  const std::string head = R"({"jsonrpc":"2.0","id":)" + call->second.id + ",";
  EXPECT_EQ(text.substr(0, head.size()), head);
  if (!reply.fault && !call->second.is_of_gateway) {
    if (const auto result = rpc::find_member(text, "result")) {
      EXPECT_EQ(rpc::find_member(*result, "nonce").value_or("none"), call->second.nonce) << text;
      check_stamp(*result);
    } else {
      check_error(call->second, text);
    }
  }
  check_time(call->second, reply, text);
  has_abandoned_ = has_abandoned_ || reply.fault == rpc::Fault::timeout;
  open_.erase(call);
}

// The error comes from the child, or says why the gateway could not ask the client.
void SimCalls::check_error(const Call& call, std::string_view text) {
  EXPECT_EQ(protocol_, config::Protocol::mcp) << text;
  const std::string_view error = rpc::find_member(text, "error").value_or("{}");
  const std::string_view data = rpc::find_member(error, "data").value_or("{}");
  if (const auto nonce = rpc::find_member(data, "nonce")) {
    EXPECT_EQ(*nonce, call.nonce) << text;
    return check_stamp(data);
  }
  if (rpc::find_member(error, "message").value_or("") == R"("no")") return;
  EXPECT_EQ(rpc::find_member(error, "code").value_or(""), "-32603") << text;
  EXPECT_TRUE(call.may_be_asked) << text;
  world_.tally().note(Seen::round_failed);
}

void SimCalls::check_question(session::Tag tag, std::string_view params) const {
  const Call* const call = find(tag);
  ASSERT_NE(call, nullptr) << "asked for no call: " << params;
  EXPECT_EQ(rpc::find_member(params, "nonce").value_or("none"), call->nonce) << params;
  EXPECT_TRUE(call->may_be_asked);
  world_.tally().note(Seen::rounds);
}

void SimCalls::check_update(std::string_view params) const {
  const std::string uri(rpc::find_member(params, "uri").value_or("none"));
  EXPECT_TRUE(subscribed_.contains(uri)) << "not subscribed to: " << params;
}

// Each call times out at its own time, whatever the times of other calls are.
void SimCalls::check_time(const Call& call, const session::Reply& reply,
                          std::string_view text) const {
  if (call.times.arrived == TimePoint{}) return;  // a broken request has no times
  const TimePoint latest = call.times.arrived + max_time_;
  EXPECT_LE(world_.now(), latest) << "a call outlives its max_time";
  if (reply.fault != rpc::Fault::timeout) return;
  if (text.find("max_time") != std::string_view::npos) {
    EXPECT_EQ(world_.now(), latest) << text;
    world_.tally().note(Seen::too_long);
  } else if (text.find("timeouts.input") == std::string_view::npos) {
    const bool is_alone = owner_ != SimOwners::kNoSession && owners_.are_exclusive() &&
                          !is_of_many_ && !call.is_of_gateway;
    records_.life.check_given_up(
        call.nonce, call.times,
        {.reports = protocol_ == config::Protocol::mcp && !call.progress_token.empty(),
         .alone = is_alone,
         .asked = is_alone});
  }
}

void SimCalls::check_cause(std::string_view params) const {
  const int64_t by = number_in(params, "by");
  if (by >= 0) {
    EXPECT_EQ(static_cast<uint64_t>(by), caller_) << "caused by another's call: " << params;
  }
}

void SimCalls::check_cancelled(session::Tag tag) {
  has_abandoned_ = true;
  EXPECT_EQ(protocol_, config::Protocol::mcp) << "elsewhere the answer is still due";
  EXPECT_EQ(open_.erase(tag), 1U) << "a cancelled call was in flight";
}

void SimCalls::check_stamp(std::string_view object) {
  const int64_t from = number_in(object, "from");
  const int64_t seq = number_in(object, "seq");
  ASSERT_GT(seq, 0) << object;
  EXPECT_GT(static_cast<uint64_t>(seq), heard_[from]) << "out of order, or twice: " << object;
  heard_[from] = static_cast<uint64_t>(seq);
  owners_.claim(from, owner_, is_of_modern(object));
}

void SimCalls::check_progress(std::string_view notification) const {
  const auto params = rpc::find_member(notification, "params");
  ASSERT_TRUE(params.has_value());
  const auto token = rpc::find_member(*params, "progressToken").value_or("none");
  const auto nonce = rpc::find_member(*params, "nonce").value_or("none");
  EXPECT_TRUE(std::any_of(open_.begin(), open_.end(),
                          [&](const auto& entry) {
                            return entry.second.progress_token == token &&
                                   entry.second.nonce == nonce;
                          }))
      << "progress of another call: " << notification;
}

}  // namespace stdgate::sim
