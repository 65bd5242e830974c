#include "gateway/mcp/mcp_dialect.h"

#include <algorithm>
#include <array>

#include "gateway/base/text.h"
#include "gateway/mcp/bridge/mcp_bridge.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/child_facts.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

namespace {

constexpr std::string_view kSubscribe = "resources/subscribe";
constexpr std::string_view kUnsubscribe = "resources/unsubscribe";
constexpr std::string_view kSetLevel = "logging/setLevel";
constexpr std::string_view kInitialized = "notifications/initialized";
constexpr std::string_view kEmptyResult = "{}";
// Of "isError" the end is searched for, as a search stops at each first letter: E is rarer than i.
constexpr std::string_view kErrorEnd = "Error";

constexpr std::array<std::string_view, 31> kMethods = {"initialize",
                                                       "ping",
                                                       "tools/list",
                                                       "tools/call",
                                                       "resources/list",
                                                       "resources/templates/list",
                                                       "resources/read",
                                                       kSubscribe,
                                                       kUnsubscribe,
                                                       "prompts/list",
                                                       "prompts/get",
                                                       "completion/complete",
                                                       kSetLevel,
                                                       "tasks/get",
                                                       "tasks/result",
                                                       "tasks/list",
                                                       "tasks/cancel",
                                                       kInitialized,
                                                       "notifications/cancelled",
                                                       "notifications/progress",
                                                       "notifications/message",
                                                       "notifications/roots/list_changed",
                                                       "notifications/tools/list_changed",
                                                       "notifications/prompts/list_changed",
                                                       "notifications/resources/list_changed",
                                                       "notifications/resources/updated",
                                                       "notifications/tasks/status",
                                                       "notifications/elicitation/complete",
                                                       "server/discover",
                                                       "subscriptions/listen",
                                                       "notifications/subscriptions/acknowledged"};

// Methods that every session needs. They reach no tool, resource or prompt.
constexpr auto kLifecycle = std::to_array<std::string_view>(
    {"initialize", "ping", kInitialized, "notifications/cancelled", "notifications/progress",
     "notifications/roots/list_changed", "server/discover"});

// The member at the end of a path of members; empty when it is absent.
tl::expected<std::string_view, rpc::MemberError> find_path(
    std::string_view object, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) {
    const auto member = rpc::find_member(object, key);
    if (!member) return member;
    object = *member;
  }
  return object;
}

bool is_string_or_number(std::string_view raw) {
  return !raw.empty() && (raw[0] == '"' || raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9'));
}

// Whether `raw` may hold the member at all; saves the walk through a large payload. A key can be
// spelled with escapes, so a backslash before a 'u' counts too.
bool may_hold(std::string_view raw, std::string_view key) {
  return raw.find(key) != std::string_view::npos ||
         (rpc::has_escapes(raw) && raw.find("\\u") != std::string_view::npos);
}

// The value of a member that may occur once; empty when it is absent.
tl::expected<std::string_view, rpc::MemberError> only_member(std::string_view object,
                                                             std::string_view key) {
  const auto member = rpc::find_member(object, key);
  return rpc::is_absent(member) ? std::string_view() : member;
}

std::string_view text_of(const rpc::Member& member) { return member.value_or(std::string_view()); }

constexpr const char* kTwoTools = "params name the tool twice";
// The tool that a request calls. False: it names two.
bool note_tool(const McpParams& params, call::ClientIntent& intent) {
  if (!params.name && !rpc::is_absent(params.name)) return false;
  intent.tool = rpc::string_content(text_of(params.name));
  intent.arguments = text_of(params.arguments);
  intent.is_clear = (params.arguments || rpc::is_absent(params.arguments)) &&
                    !params.has_similar(kNameParam | kArgumentsParam);
  return true;
}

// Notes the client's token for progress. Returns what is wrong with it, or null.
const char* note_token(const McpParams& params, call::ClientIntent& intent) {
  const rpc::Member& token = params.meta ? params.of_meta.progress_token : params.meta;
  if (!token) return rpc::is_absent(token) ? nullptr : "params name _meta or progressToken twice";
  if (!is_string_or_number(*token)) return "progressToken is neither a string nor a number";
  intent.progress_token = *token;
  return nullptr;
}

// The notifications of changes, in the order of kMcpLists.
constexpr std::array<std::string_view, 3> kChangeNotices = {
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})",
    R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"})",
    R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed"})"};

// Lists whose changes a child with these capabilities reports: bits of kMcpLists.
uint8_t changing_lists_of(std::string_view capabilities) {
  uint8_t lists = 0;
  for (const McpList& list : kMcpLists) {
    if (find_path(capabilities, {list.capability, "listChanged"}) == "true") {
      lists = static_cast<uint8_t>(lists | list.bit);
    }
  }
  return lists;
}

// Notes what a session's client tells its own child, so that another child can be told it again.
void note_memo(const rpc::Envelope& request, std::string_view method, call::ClientIntent& intent) {
  if (method == kSetLevel) {
    intent.memo = call::SessionMemo::severity;
    intent.memo_text = rpc::string_content(only_member(request.params, "level").value_or(""));
  } else if (method == kSubscribe || method == kUnsubscribe) {
    intent.memo =
        method == kSubscribe ? call::SessionMemo::subscribe : call::SessionMemo::unsubscribe;
    intent.memo_text = rpc::string_content(only_member(request.params, "uri").value_or(""));
  }
}

// A request with one member in its params.
std::string request_of(rpc::WireId id, std::string_view method, std::string_view key,
                       std::string_view value) {
  std::string params = "{\"" + std::string(key) + "\":";
  rpc::append_json_string(params, value);
  return rpc::request_text(id, method, params.append("}"));
}

constexpr pool::DialectTraits kTraits = {
    .shares_children = true,
    // A cancelled request "should not" be answered: MCP 2025-11-25, utilities/cancellation.
    .cancel_ends_call = true,
    .methods = kMethods,
    .greeting = "initialize",
    .greeting_hint =
        "if it starts slowly, raise pool.start_timeout; if it is no MCP server, say what it is: "
        "protocol (--protocol) jsonrpc or lsp",
    .greeting_completion = R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
    .probe = "server/discover",
    .listening_begun = "notifications/subscriptions/acknowledged",
    .restart_notice = kRestartNotice,
    .exit = {},
};

}  // namespace

McpDialect::McpDialect(std::string version, std::string name)
    : pool::Dialect(kTraits),
      version_(std::move(version)),
      name_(std::move(name)),
      stamp_(stamp_of_gateway(name_, version_)) {}

std::shared_ptr<pool::Bridge> McpDialect::make_bridge(const backend::BridgeParts& parts) const {
  return std::make_shared<McpBridge>(parts, *this);
}

std::string McpDialect::greet(rpc::WireId id, std::optional<std::string_view> client) const {
  if (client) return rpc::request_text(id, "initialize", *client);
  std::string params = R"({"protocolVersion":")" + std::string(kMcpRevisions.front());
  params.append(R"(","capabilities":{},"clientInfo":{"name":")").append(name_);
  rpc::append_json_string(params.append(R"(","version":)"), version_);
  return rpc::request_text(id, "initialize", params.append("}}"));
}

std::string_view McpDialect::refusal_hint(const rpc::Envelope& answer) const {
  const bool is_modern =
      rpc::error_code(answer) == rpc::rpc_error_code(rpc::RpcError::unsupported_version);
  return is_modern ? "it may be of MCP's modern era alone: revision (--revision) modern"
                   : traits().greeting_hint;
}

tl::expected<std::string, std::string> McpDialect::finish_handshake(
    const rpc::Envelope& answer) const {
  if (answer.kind == rpc::MessageKind::error) {
    return tl::unexpected("initialize was answered with the error " + std::string(answer.payload));
  }
  const auto raw = rpc::find_member(answer.payload, "protocolVersion");
  if (!raw || !raw->starts_with('"')) {
    return tl::unexpected(std::string("the answer to initialize names no protocolVersion"));
  }
  const std::string_view revision = rpc::string_content(*raw);
  if (!parse_mcp_revision(revision)) {
    return tl::unexpected("it speaks the unknown MCP revision " + std::string(revision));
  }
  return std::string(kTraits.greeting_completion);
}

std::string McpDialect::probe(rpc::WireId id) const {
  return rpc::request_text(id, kTraits.probe, R"({"_meta":{)" + stamp_ + "}}");
}

// Some children answer every request. A modern child names the version of the request.
std::optional<pool::ChildFacts> McpDialect::discovery(const rpc::Envelope& answer) {
  if (answer.kind != rpc::MessageKind::result) return std::nullopt;
  const auto versions = rpc::find_member(answer.payload, "supportedVersions");
  const std::string quoted = '"' + std::string(kModernRevision) + '"';
  if (!versions || versions->front() != '[' || versions->find(quoted) == std::string_view::npos) {
    return std::nullopt;
  }
  pool::ChildFacts facts = pool::greeting_facts(answer.payload);
  facts.protocol_version = kModernRevision;
  facts.changing_lists = changing_lists_of(facts.capabilities);
  const auto server = find_path(answer.payload, {"_meta", kServerInfoKey});
  if (server) {
    facts.server_name = pool::fact_text(rpc::find_member(*server, "name").value_or(""));
    facts.server_version = pool::fact_text(rpc::find_member(*server, "version").value_or(""));
  }
  return facts;
}

// A modern child names no revision in its answer; its client is told agreed_mcp_revision().
std::string_view McpDialect::agreed_revision(const rpc::Envelope& answer,
                                             std::string_view greeting) const {
  const auto named = rpc::find_member(answer.payload, "protocolVersion");
  if (!named) return agreed_mcp_revision(greeting);
  const auto revision = parse_mcp_revision(rpc::string_content(*named));
  return revision ? mcp_revision_text(*revision) : std::string_view();
}

std::optional<pool::ChildFacts> McpDialect::facts(const rpc::Envelope& answer,
                                                  std::string_view method) const {
  if (method == kTraits.probe) return discovery(answer);
  pool::ChildFacts facts = pool::greeting_facts(answer.payload);
  facts.protocol_version =
      pool::fact_text(rpc::find_member(answer.payload, "protocolVersion").value_or(""));
  facts.changing_lists = changing_lists_of(facts.capabilities);
  facts.logs = rpc::find_member(facts.capabilities, "logging").has_value();
  return facts;
}

tl::expected<call::ClientIntent, const char*> McpDialect::read_client(
    const rpc::Envelope& message, std::string_view method, const call::Reading& reading) const {
  tl::expected<call::ClientIntent, const char*> read;  // returned by each way, so never copied
  const bool is_modern = reading.peer_kind == PeerKind::stateless;
  const auto note = [&](const McpParams& params) {
    return is_modern ? note_modern(message, method, params, *read)
                     : note_legacy(message, method, reading.isolation, params, *read);
  };
  const char* refusal = nullptr;
  if (message.kind == rpc::MessageKind::notification) {
    refusal = note_notification(message, method, reading.isolation, *read);
  } else if (reading.params != nullptr) {
    refusal = note(static_cast<const McpParams&>(*reading.params));
  } else {
    refusal = note(is_modern ? read_params(message.params, memory_) : read_params(message.params));
  }
  if (refusal != nullptr) read = tl::unexpected(refusal);
  return read;
}

const char* McpDialect::note_notification(const rpc::Envelope& message, std::string_view method,
                                          config::Isolation isolation, call::ClientIntent& intent) {
  if (method == kInitialized) {
    if (isolation == config::Isolation::shared) intent.kind = call::ClientIntent::Kind::swallow;
    intent.memo = call::SessionMemo::completion;
  }
  if (method == "notifications/cancelled") {
    intent.kind = call::ClientIntent::Kind::cancel;
    const auto id = only_member(message.params, "requestId");
    if (!id) return "params name requestId twice";
    intent.cancelled_id = *id;
  }
  return nullptr;
}

const char* McpDialect::note_legacy(const rpc::Envelope& request, std::string_view method,
                                    config::Isolation isolation, const McpParams& params,
                                    call::ClientIntent& intent) {
  const bool is_shared = isolation == config::Isolation::shared;
  // The client of a session greets the session's own child.
  if (same_text(method, "initialize")) {
    intent.memo = call::SessionMemo::greeting;
    intent.memo_text = request.params;
    if (is_shared) {
      intent.kind = call::ClientIntent::Kind::handshake;
      return nullptr;
    }
    intent.greets = intent.introduces = true;
  }
  if (!is_shared) note_memo(request, method, intent);
  if (same_text(method, "tools/call") && !note_tool(params, intent)) {
    return kTwoTools;
  }
  if (is_shared && method == kSetLevel) {
    const auto level = only_member(request.params, "level");
    if (!level) return "params name the level twice";
    intent.kind = call::ClientIntent::Kind::set_severity;
    intent.severity = session::parse_severity(rpc::string_content(*level));
    intent.result = kEmptyResult;
  }
  if (is_shared && (method == kSubscribe || method == kUnsubscribe)) {
    if (!params.uri && !rpc::is_absent(params.uri)) {
      return "params name the uri twice";
    }
    intent.key = rpc::string_content(text_of(params.uri));
    intent.result = kEmptyResult;
  }
  using Kind = call::ClientIntent::Kind;
  if (!intent.key.empty()) intent.kind = method == kSubscribe ? Kind::subscribe : Kind::unsubscribe;
  return note_token(params, intent);
}

bool McpDialect::is_lifecycle(std::string_view method) const {
  return std::ranges::find(kLifecycle, method) != kLifecycle.end();
}

tl::expected<call::UsedElement, const char*> McpDialect::used_element(
    const rpc::Envelope& message, std::string_view method) const {
  return mcp::used_element(message, method);
}

const call::ListShape* McpDialect::list_shape(std::string_view method) const {
  return mcp::list_shape(method);
}

call::Absence McpDialect::absence(std::string_view method, policy::ElementKind kind,
                                  std::string_view name, PeerKind of_client) const {
  return mcp::absence(method, kind, name, of_client);
}

const char* McpDialect::note_modern(const rpc::Envelope& request, std::string_view method,
                                    const McpParams& params, call::ClientIntent& intent) {
  constexpr std::array<std::string_view, 3> kAskable = {"sampling", "elicitation", "roots"};
  intent.may_be_asked =
      std::ranges::any_of(rpc::find_members(text_of(params.of_meta.capabilities), kAskable),
                          [](const rpc::Member& declared) { return declared.has_value(); });
  intent.severity = session::parse_severity(rpc::string_content(text_of(params.of_meta.log_level)));
  if (method == "server/discover") {
    intent.kind = call::ClientIntent::Kind::handshake;
    intent.only_of_stateful = true;
  }
  intent.listens = method == "subscriptions/listen";
  if (intent.listens) intent.lists = listened_lists(request);
  intent.may_need_input = kInput.may_need_input(method);
  intent.resumes = intent.may_need_input && !(rpc::is_absent(params.request_state) &&
                                              rpc::is_absent(params.input_responses));
  if (same_text(method, "tools/call") && !note_tool(params, intent)) {
    return kTwoTools;
  }
  return note_token(params, intent);
}

std::vector<std::string> McpDialect::listened_keys(const rpc::Envelope& request,
                                                   const pool::ChildFacts& facts) {
  std::vector<std::string> keys;
  const auto offered = find_path(facts.capabilities, {"resources", "subscribe"});
  const auto wishes = find_path(request.params, {"notifications", kUpdatesWish});
  if (!offered || *offered != "true" || !wishes) return keys;
  rpc::JsonCursor cursor(*wishes);
  if (!cursor.take('[') || cursor.take(']')) return keys;
  std::string scratch;
  do {
    const std::string_view uri = cursor.take_value();
    if (uri.front() == '"')
      keys.emplace_back(rpc::decode_string(rpc::string_content(uri), scratch));
  } while (cursor.take(','));
  return keys;
}

std::optional<pool::GreetingTerms> McpDialect::terms(const rpc::Envelope& answer) const {
  if (answer.kind != rpc::MessageKind::result) return std::nullopt;
  const auto member = [&](std::string_view key) {
    return rpc::find_member(answer.payload, key).value_or(std::string_view());
  };
  pool::GreetingTerms terms;
  terms.revision = rpc::string_content(member("protocolVersion"));
  std::string relied_on;
  for (const std::string_view key : {"capabilities", "serverInfo", "instructions"}) {
    relied_on.append(member(key)).append("\n");
  }
  terms.digest = std::hash<std::string>()(relied_on);
  const std::string_view capabilities = member("capabilities");
  for (size_t i = 0; i < kMcpLists.size(); ++i) {
    if (rpc::find_member(capabilities, kMcpLists[i].capability)) {
      terms.lists = static_cast<uint8_t>(terms.lists | 1U << i);
    }
  }
  terms.changing = changing_lists_of(capabilities);
  return terms;
}

std::vector<std::string_view> McpDialect::change_notices(uint8_t lists) const {
  std::vector<std::string_view> notices;
  for (size_t i = 0; i < kMcpLists.size(); ++i) {
    if ((lists >> i & 1U) != 0) notices.push_back(kChangeNotices[i]);
  }
  return notices;
}

std::string McpDialect::client_label(std::string_view params) const {
  const std::string_view info = rpc::member_or_empty(params, "clientInfo");
  std::string label = pool::fact_text(rpc::member_or_empty(info, "name"));
  const std::string version = pool::fact_text(rpc::member_or_empty(info, "version"));
  if (!label.empty() && !version.empty()) label += ' ';
  return label + version;
}

std::string McpDialect::cancel(rpc::WireId id, pool::CancelReason reason) const {
  std::string params = R"({"requestId":)" + std::to_string(id) + R"(,"reason":")";
  params.append(pool::cancel_reason_text(reason)).append("\"}");
  return rpc::notification_text("notifications/cancelled", params);
}

std::string_view McpDialect::cancelled_by_child(const rpc::Envelope& notification,
                                                std::string_view method) const {
  if (method != "notifications/cancelled") return {};
  return rpc::find_member(notification.params, "requestId").value_or(std::string_view());
}

std::string_view McpDialect::progress_token(const rpc::Envelope& notification,
                                            std::string_view method) const {
  if (method != "notifications/progress") {
    // A modern child names the id of the request that opened the stream.
    if (!may_hold(notification.params, kSubscriptionKey)) return {};
    return find_path(notification.params, {"_meta", kSubscriptionKey}).value_or("");
  }
  return rpc::find_member(notification.params, "progressToken").value_or(std::string_view());
}

// A notification that the schema does not define counts as caused by a call, like log messages.
pool::Audience McpDialect::audience(const rpc::Envelope& notification,
                                    std::string_view method) const {
  if (method == "notifications/resources/updated") {
    const auto uri = rpc::find_member(notification.params, "uri");
    return {pool::Audience::Kind::subscribers,
            rpc::string_content(uri.value_or(std::string_view())),
            {}};
  }
  if (method == "notifications/message") {
    const auto level = rpc::find_member(notification.params, "level");
    return {pool::Audience::Kind::caller,
            {},
            session::parse_severity(rpc::string_content(level.value_or("")))};
  }
  const auto* const list = std::ranges::find(kMcpLists, method, &McpList::changed);
  if (list == kMcpLists.end()) return {pool::Audience::Kind::caller, {}, {}};
  return {pool::Audience::Kind::everybody, {}, {}, list->bit};
}

std::string McpDialect::subscribe(rpc::WireId id, std::string_view key, bool begins) const {
  return request_of(id, begins ? kSubscribe : kUnsubscribe, "uri", key);
}

std::string McpDialect::set_severity(rpc::WireId id, session::Severity severity) const {
  return request_of(id, kSetLevel, "level", session::severity_name(severity));
}

// "a/b", then "a/", then "a": a subscriber may have written either of the last two.
std::string_view McpDialect::enclosing(std::string_view uri) const {
  const size_t separator = uri.find_last_of("/?#");
  if (separator == std::string_view::npos) return {};
  return uri.substr(0, separator + 1 == uri.size() ? separator : separator + 1);
}

std::string_view McpDialect::answer_child(std::string_view method) const {
  return method == "ping" ? kEmptyResult : "";
}

Outcome McpDialect::outcome(const rpc::Envelope& answer, std::string_view method) const {
  if (answer.kind == rpc::MessageKind::error) {
    if (method != kTraits.probe) return Outcome::error();
    const auto failed = rpc::rpc_error_code(rpc::RpcError::internal_error);
    return rpc::error_code(answer) == failed ? Outcome::error() : Outcome::other_era();
  }
  const bool is_error = same_text(method, "tools/call") && may_hold(answer.payload, kErrorEnd) &&
                        rpc::member_or_empty(answer.payload, "isError") == "true";
  return is_error ? Outcome::tool_error() : Outcome::ok();
}

}  // namespace stdgate::mcp
