#include "gateway/mcp/mcp_input.h"

#include <algorithm>
#include <array>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

namespace {

constexpr std::string_view kStateKey = "requestState";
constexpr std::string_view kAnswersKey = "inputResponses";
constexpr std::string_view kSampling = "sampling/createMessage";
constexpr std::string_view kElicitation = "elicitation/create";
constexpr std::string_view kRoots = "roots/list";
constexpr std::string_view kNoParams = "{}";

// Capabilities of a client that allow a server to ask it something.
constexpr std::array<std::string_view, 3> kAskable = {"sampling", "elicitation", "roots"};

bool is_object(std::string_view raw) { return !raw.empty() && raw.front() == '{'; }

void add_member(std::string& out, std::string_view key, std::string_view value) {
  if (out.back() != '{') out += ',';
  out.append("\"").append(key).append("\":").append(value);
}

bool is_of_round(std::string_view key) {
  return rpc::json_string_equals(key, kStateKey) || rpc::json_string_equals(key, kAnswersKey);
}

// The request with these members of params in place of its answers and its state.
std::string request_with(const rpc::Envelope& request, std::string_view members) {
  std::string params = "{";
  rpc::for_each_member(request.params, [&](std::string_view key, std::string_view value) {
    if (!is_of_round(key)) add_member(params, key, value);
  });
  if (!members.empty()) {
    if (params.back() != '{') params += ',';
    params += members;
  }
  return rpc::spelled_request_text(request.id, request.method, params.append("}"));
}

// `{"<capability>":{"<mode>":{}}}`
std::string capability_of(std::string_view name, std::string_view mode = {}) {
  std::string text = "{\"" + std::string(name) + "\":{";
  if (!mode.empty()) text.append("\"").append(mode).append("\":{}");
  return text + "}}";
}

// Without a mode, `form` is asked and declared (client/elicitation, capabilities).
bool has_mode(std::string_view elicitation, std::string_view mode) {
  const bool has_any = !rpc::member_or_empty(elicitation, "form").empty() ||
                       !rpc::member_or_empty(elicitation, "url").empty();
  return has_any ? !rpc::member_or_empty(elicitation, mode).empty() : mode == "form";
}

// The params in the form of the modern era.
std::string params_of(std::string_view params) {
  std::string text = "{";
  rpc::for_each_member(params, [&](std::string_view name, std::string_view value) {
    // These members concern tasks, tokens and identifiers of the legacy era.
    for (const std::string_view gone : {"_meta", "task", "elicitationId"}) {
      if (rpc::json_string_equals(name, gone)) return;
    }
    add_member(text, name, value);
  });
  return text + "}";
}

std::string request_text(std::string_view method, std::string_view params) {
  std::string text = "{\"method\":\"" + std::string(method) + "\"";
  if (is_object(params)) text.append(",\"params\":").append(params_of(params));
  return text + "}";
}

InputRuling judge_elicitation(std::string_view params, std::string_view declared) {
  InputRuling ruling;
  const std::string_view named = rpc::string_content(rpc::member_or_empty(params, "mode"));
  const std::string_view mode = named.empty() ? "form" : named;
  const bool is_declared = is_object(declared) && has_mode(declared, mode);
  ruling.verdict =
      is_declared ? InputRuling::Verdict::allowed : InputRuling::Verdict::lacks_capability;
  ruling.value = request_text(kElicitation, params);
  ruling.capability = capability_of("elicitation", mode);
  return ruling;
}

}  // namespace

bool McpInput::may_need_input(std::string_view method) const {
  return method == "tools/call" || method == "prompts/get" || method == "resources/read";
}

bool McpInput::resumes(const rpc::Envelope& request) const {
  std::string scratch;
  return may_need_input(request.decoded_method(scratch)) &&
         !(rpc::is_absent(rpc::find_member(request.params, kStateKey)) &&
           rpc::is_absent(rpc::find_member(request.params, kAnswersKey)));
}

InputAnswers McpInput::read_answers(const rpc::Envelope& request) const {
  InputAnswers read;
  const auto state = rpc::find_member(request.params, kStateKey);
  const auto answers = rpc::find_member(request.params, kAnswersKey);
  const auto is_twice = [](const auto& found) {
    return !found && found.error() == rpc::MemberError::duplicate;
  };
  read.is_malformed = is_twice(state) || is_twice(answers) || (state && state->front() != '"') ||
                      (answers && !is_object(*answers));
  read.has_state = state || is_twice(state);
  if (read.is_malformed) return read;
  if (state) {
    std::string scratch;
    read.state = rpc::decode_string(rpc::string_content(*state), scratch);
  }
  if (answers) read.answers = *answers;
  return read;
}

std::string McpInput::greeting_for(const rpc::Envelope& request) const {
  const std::string_view meta = rpc::member_or_empty(request.params, kMetaKey);
  const std::string_view declared = rpc::member_or_empty(meta, kClientCapabilitiesKey);
  std::string capabilities = "{";
  for (const std::string_view key : kAskable) {
    const std::string_view value = rpc::member_or_empty(declared, key);
    // Changes are not declared, because the server could not be told of them.
    if (is_object(value)) add_member(capabilities, key, key == "roots" ? "{}" : value);
  }
  std::string text = "{\"protocolVersion\":\"" + std::string(kMcpRevisions.front()) + "\"";
  add_member(text, "capabilities", capabilities + "}");
  const std::string_view info = rpc::member_or_empty(meta, kClientInfoKey);
  add_member(text, "clientInfo",
             is_object(info) ? info : R"({"name":"unnamed","version":"unknown"})");
  return text + "}";
}

bool McpInput::may_ask_first(std::string_view greeting) const {
  return !rpc::member_or_empty(rpc::member_or_empty(greeting, "capabilities"), "roots").empty();
}

bool McpInput::is_private(std::string_view method) const { return method == kRoots; }

// Sorted by key, because the order of members has no meaning.
std::string McpInput::essence(const rpc::Envelope& request) const {
  std::vector<std::string> members;
  rpc::for_each_member(request.params, [&](std::string_view key, std::string_view value) {
    if (is_of_round(key) || rpc::json_string_equals(key, kMetaKey)) return;
    members.push_back("\"" + std::string(key).append("\":").append(value));
  });
  std::ranges::sort(members);
  std::string text(request.method);
  for (const std::string& part : members) text.append("\n").append(part);
  return text;
}

std::string McpInput::without_answers(const rpc::Envelope& request) const {
  return request_with(request, {});
}

std::string McpInput::with_answers(const rpc::Envelope& request, std::string_view answers,
                                   std::string_view state) const {
  std::string members;
  if (!answers.empty()) {
    members.append("\"").append(kAnswersKey).append("\":{").append(answers).append("}");
  }
  if (!state.empty()) {
    if (!members.empty()) members += ',';
    members.append("\"").append(kStateKey).append("\":").append(state);
  }
  return request_with(request, members);
}

bool McpInput::is_askable(std::string_view greeting) const {
  const std::string_view declared = rpc::member_or_empty(greeting, "capabilities");
  return std::ranges::any_of(kAskable, [&](std::string_view key) {
    return is_object(rpc::member_or_empty(declared, key));
  });
}

std::optional<InputDemands> McpInput::demands(const rpc::Envelope& answer) const {
  const bool may_demand =
      answer.kind == rpc::MessageKind::result && !begins_as_complete(answer.payload);
  if (!may_demand) return std::nullopt;
  const std::string_view type = rpc::member_or_empty(answer.payload, "resultType");
  if (!rpc::json_string_equals(rpc::string_content(type), "input_required")) return std::nullopt;
  InputDemands demands;
  const std::string_view state = rpc::member_or_empty(answer.payload, kStateKey);
  const std::string_view requests = rpc::member_or_empty(answer.payload, "inputRequests");
  if (!rpc::string_content(state).empty()) demands.state = state;
  const bool is_state = state.empty() || state.front() == '"' || state == "null";
  demands.is_malformed = !is_state || (!requests.empty() && !is_object(requests));
  rpc::for_each_member(requests, [&](std::string_view key, std::string_view value) {
    const std::string_view method = rpc::member_or_empty(value, "method");
    const std::string_view params = rpc::member_or_empty(value, "params");
    const bool is_request =
        !rpc::string_content(method).empty() && (params.empty() || is_object(params));
    if (!is_request) demands.is_malformed = true;
    demands.all.push_back(
        {"\"" + std::string(key) + "\"", std::string(method), std::string(params)});
  });
  if (demands.all.empty() && demands.state.empty()) demands.is_malformed = true;
  return demands;
}

InputRuling McpInput::judge(const rpc::Envelope& ask, std::string_view method,
                            std::string_view greeting) const {
  using Verdict = InputRuling::Verdict;
  const std::string_view declared = rpc::member_or_empty(greeting, "capabilities");
  if (method == kElicitation)
    return judge_elicitation(ask.params, rpc::member_or_empty(declared, "elicitation"));
  InputRuling ruling;
  if (method == kSampling) {
    const std::string_view sampling = rpc::member_or_empty(declared, "sampling");
    const bool uses_tools = !rpc::member_or_empty(ask.params, "tools").empty() ||
                            !rpc::member_or_empty(ask.params, "toolChoice").empty();
    const bool is_declared =
        is_object(sampling) && (!uses_tools || !rpc::member_or_empty(sampling, "tools").empty());
    ruling.verdict = is_declared ? Verdict::allowed : Verdict::lacks_capability;
    ruling.capability = capability_of("sampling", uses_tools ? "tools" : "");
  } else if (method == kRoots) {
    ruling.verdict = rpc::member_or_empty(declared, "roots").empty() ? Verdict::lacks_capability
                                                                     : Verdict::allowed;
    ruling.capability = capability_of("roots");
  } else {
    return ruling;
  }
  // roots/list has only members of the legacy era. Some clients want params nevertheless.
  ruling.value = request_text(method, method == kRoots ? kNoParams : ask.params);
  return ruling;
}

// Among the errors of 2025-11-25, only "URL elicitation required" has such data. The modern era
// does not have that error.
std::vector<InputRuling> McpInput::demanded(const rpc::Envelope& error,
                                            std::string_view greeting) const {
  std::vector<InputRuling> rulings;
  const std::string_view declared =
      rpc::member_or_empty(rpc::member_or_empty(greeting, "capabilities"), "elicitation");
  rpc::JsonCursor cursor(
      rpc::member_or_empty(rpc::member_or_empty(error.payload, "data"), "elicitations"));
  if (!cursor.take('[') || cursor.take(']')) return rulings;
  do {
    rulings.push_back(judge_elicitation(cursor.take_value(), declared));
  } while (cursor.take(','));
  return rulings;
}

std::string McpInput::input_required(std::span<const InputRequest> requests,
                                     std::string_view state) const {
  std::string text = R"("result":{"resultType":"input_required","inputRequests":{)";
  for (const InputRequest& request : requests) {
    add_member(text, request.key, request.value);
  }
  return text.append(R"(},"requestState":")").append(state).append("\"}");
}

bool McpInput::is_consent(std::string_view answer) const {
  const std::string_view action = rpc::member_or_empty(answer, "action");
  return action.empty() || rpc::json_string_equals(rpc::string_content(action), "accept");
}

std::string McpInput::ping(rpc::WireId id) const { return rpc::request_text(id, "ping"); }

call::Absence McpInput::missing_capability(std::string_view capability) const {
  return {rpc::RpcError::missing_capability, "the client lacks a capability that this needs",
          R"({"requiredCapabilities":)" + std::string(capability) + "}"};
}

}  // namespace stdgate::mcp
