#include "tests/unit/servers/server_bench.h"

#include <algorithm>

#include "gateway/config/options/option_rules.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::test {

namespace {

backend::UpstreamFacts facts_of_member(BackendId id, const std::string& name, bool owns_children) {
  backend::UpstreamFacts facts;
  facts.id = id;
  facts.name = name;
  facts.protocol = config::Protocol::mcp;
  facts.codes = rpc::CodeSet::mcp;
  facts.owns_children = owns_children;
  return facts;
}

}  // namespace

ScriptedMember::ScriptedMember(BackendId id, const std::string& name, bool owns_children,
                               session::Callers& its_callers)
    : backend::Upstream(facts_of_member(id, name, owns_children)), callers(its_callers) {}

backend::Admission ScriptedMember::accept(const rpc::ParsedMessage& message,
                                          const call::CallContext& context) {
  const rpc::Envelope& envelope = message.envelope;
  if (envelope.kind != rpc::MessageKind::request) {
    notes.emplace_back(envelope.text);
    return backend::Admission::delivered;
  }
  std::string scratch;
  const Asked one{std::string(rpc::decode_string(envelope.method, scratch)),
                  std::string(envelope.params),
                  std::string(envelope.id),
                  context.caller,
                  context.tag,
                  context.session,
                  context.principal == nullptr ? "" : context.principal->name,
                  context.is_of_server,
                  context.timeout};
  asked.push_back(one);
  const std::string tail = script ? script(one) : std::string();
  if (!tail.empty()) answer(one, tail);
  return backend::Admission::answered_by_reply;
}

bool ScriptedMember::take_cancel(const rpc::ParsedMessage& message,
                                 const call::CallContext& context) {
  // With a pool for each principal, a cancel must say whose call it is, or that it is for all
  // principals.
  const bool is_known = context.principal != nullptr || context.is_of_server;
  if (name().starts_with("each") && !is_known) return false;
  notes.emplace_back(message.envelope.text);
  return true;
}

void ScriptedMember::refuse(const rpc::FaultReport& report, const backend::UnreadRequest& request,
                            const call::CallContext& context) {
  std::string text;
  rpc::append_fault_response(text, request.id, report, codes(), false);
  session::Reply reply;
  reply.head = text;
  reply.fault = report.fault;
  callers.find(context.caller)->on_reply(context.tag, reply);
}

tl::expected<session::SessionId, rpc::FaultReport> ScriptedMember::open_session(
    session::Caller caller, session::SessionSink& sink, const policy::Client& /*client*/) {
  const auto id = sessions.acquire();
  *sessions.find(*id) = {caller, &sink};
  return *id;
}

pool::BackendStatus ScriptedMember::status() const {
  ++status_taken;
  pool::BackendStatus status;
  status.name = name();
  status.ready = true;
  status.state = backend_state;
  status.peer_kind = peer_kind;
  status.asleep = is_asleep;
  return status;
}

void ScriptedMember::answer(const Asked& one, const std::string& tail) {
  answered_.insert({one.caller.index, one.caller.generation, one.tag, one.id});
  session::ReplySink* const sink = callers.find(one.caller);
  if (sink == nullptr) return;
  const std::string rest = "," + tail + "}";
  session::Reply reply;
  reply.head = R"({"jsonrpc":"2.0","id":)";
  reply.id = one.id;
  reply.tail = rest;
  sink->on_reply(one.tag, reply);
}

void ScriptedMember::fail(const Asked& one, rpc::Fault fault) {
  if (callers.find(one.caller) == nullptr) return;
  answered_.insert({one.caller.index, one.caller.generation, one.tag, one.id});
  call::CallContext context;
  context.caller = one.caller;
  context.tag = one.tag;
  refuse(rpc::faults::plain(fault), {.id = one.id}, context);
}

void ScriptedMember::say(const std::string& text) {
  std::vector<session::SessionSink*> sinks;
  sessions.for_each([&](session::SessionId, const auto& one) { sinks.push_back(one.second); });
  const std::string_view view = text;
  for (session::SessionSink* const sink : sinks) sink->on_message({}, {&view, 1});
}

void ScriptedMember::say_of(const std::string& method, const std::string& text) {
  const auto last = std::find_if(asked.rbegin(), asked.rend(),
                                 [&](const Asked& one) { return one.method == method; });
  callers.find(last->caller)->on_event(last->tag, text);
}

void ScriptedMember::lose_sessions() {
  std::vector<session::SessionSink*> sinks;
  sessions.for_each([&](session::SessionId, const auto& one) { sinks.push_back(one.second); });
  for (session::SessionSink* const sink : sinks) {
    sink->on_session_end(session::SessionEnd::failed, "it has gone");
  }
}

std::vector<std::string> ScriptedMember::methods() const {
  std::vector<std::string> all;
  for (const Asked& one : asked) all.push_back(one.method);
  return all;
}

ServerBench::ServerBench(const std::vector<std::string>& backends, config::ServerConfig own) {
  own.name = "team";
  for (const std::string& name : backends) {
    config::BackendConfig& backend = config.backends.emplace_back();
    backend.name = name;
    backend.protocol = config::Protocol::mcp;
    const bool is_own = name.starts_with("own");
    backend.isolation = is_own                     ? config::Isolation::session
                        : name.starts_with("each") ? config::Isolation::principal
                                                   : config::Isolation::shared;
    const bool is_member =
        std::ranges::find(own.members, name, &config::MemberConfig::backend) != own.members.end();
    if (!is_member) {
      config::MemberConfig& member = own.members.emplace_back();
      member.backend = name;
      member.prefix = name + "_";
      member.wait = std::chrono::seconds(15);
    }
    auto made = std::make_unique<ScriptedMember>(static_cast<BackendId>(members.size() + 1), name,
                                                 is_own, callers);
    members.push_back(made.get());
    upstreams.add(std::move(made));
  }
  config.servers.push_back(own);
  server = std::make_unique<servers::VirtualServer>(
      BackendId{0}, servers::VirtualServerOptions{own, config.limits, {}, {}, {}, "1"},
      std::make_unique<mcp::McpDialect>("1"), names, callers, services);
  server->attach(upstreams, config);
}

void ServerBench::send(FakeClient& client, std::string text, PeerKind peer_kind, session::Tag tag) {
  rpc::EnvelopeParser parser(server->envelope_limits());
  call::CallContext context;
  context.caller = client.caller();
  context.tag = tag;
  context.peer_kind = peer_kind;
  context.arrived = clock.now();
  context.account = account.get();
  context.wants_events = true;
  context.principal = principal.get();
  server->accept(parser.parse(text).value().messages[0], context);
}

void ServerBench::send(FakeSession& session, std::string text, session::Tag tag) {
  rpc::EnvelopeParser parser(server->envelope_limits());
  call::CallContext context;
  context.caller = session.caller();
  context.session = session.id;
  context.tag = tag;
  context.arrived = clock.now();
  context.account = account.get();
  context.principal = principal.get();
  server->accept(parser.parse(text).value().messages[0], context);
}

std::string ServerBench::ask(const std::string& method, const std::string& params,
                             PeerKind peer_kind) {
  FakeClient client(callers);
  send(client, R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}",
       peer_kind);
  for (int i = 0; i < 10 && client.answers.empty(); ++i) advance(Duration{0});
  if (client.answers.empty()) server->cancel_calls_of(client.caller());
  return client.answers.empty() ? "" : client.answers.front().text;
}

void ServerBench::open(FakeSession& session, const session::Beginning& beginning) {
  session.id =
      *server->adopt_session(session.caller(), session, {{}, principal, account}, beginning);
  if (!beginning.greeting.empty()) return;
  send(session,
       R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
       R"("capabilities":{},"clientInfo":{"name":"c","version":"1"}}})");
  session.take();
}

void ServerBench::advance(Duration duration) {
  const TimePoint end = clock.now() + duration;
  for (auto due = timers.next_due(); due && *due <= end; due = timers.next_due()) {
    clock.set(std::max(*due, clock.now()));
    timers.run_due(clock.now());
  }
  clock.set(end);
}

ScriptedMember::Script with_tool(const std::string& tool,
                                 const std::vector<std::pair<std::string, std::string>>& answers) {
  return [=](const ScriptedMember::Asked& asked) -> std::string {
    const auto own =
        std::ranges::find(answers, asked.method, &std::pair<std::string, std::string>::first);
    if (own != answers.end()) return own->second;
    if (asked.method == "initialize") {
      return R"("result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},)"
             R"("resources":{"subscribe":true},"logging":{}},)"
             R"("serverInfo":{"name":"m","version":"1"}})";
    }
    if (asked.method == "tools/list") {
      return R"("result":{"tools":[{"name":")" + tool + R"(","inputSchema":{"type":"object"}}]})";
    }
    if (asked.method == "tools/call" || asked.method == "ping" ||
        asked.method == "logging/setLevel" || asked.method == "resources/subscribe") {
      return R"("result":{})";
    }
    return R"("error":{"code":-32601,"message":"Method not found"})";
  };
}

}  // namespace stdgate::test
