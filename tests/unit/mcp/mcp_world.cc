#include "tests/unit/mcp/mcp_world.h"

#include <gtest/gtest.h>

#include <utility>

#include "gateway/mcp/mcp_dialect.h"

namespace stdgate::test {

backend::BackendOptions mcp_options(config::Isolation isolation) {
  backend::BackendOptions options = plain_options();
  options.config.protocol = config::Protocol::mcp;
  options.config.isolation = isolation;
  options.config.pool.max = 8;
  options.config.timeout = std::chrono::seconds(60);
  return options;
}

std::string tool_call(const std::string& id, const std::string& token) {
  return R"({"jsonrpc":"2.0","id":)" + id +
         R"(,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":)" + token + "}}}";
}

std::string progress(const std::string& token, int step) {
  return note_text("notifications/progress",
                   R"({"progressToken":)" + token + R"(,"progress":)" + std::to_string(step) + "}");
}

McpWorld::McpWorld(const backend::BackendOptions& options, const config::LimitsConfig& all_limits)
    : limits(all_limits),
      bench(options, std::make_unique<mcp::McpDialect>("1")),
      ids([this] { return new_id(); }),
      sessions({bench.backend, bench.callers, bench.timers, bench.clock, limits, bench.storages,
                timeouts},
               kIdleTimeout, ids) {}

mcp::McpSession& McpWorld::open(mcp::McpSession::Kind kind) {
  const auto opened = sessions.open(kind);
  EXPECT_TRUE(opened.has_value());
  session = *opened;
  id = session->id();
  kind_ = kind;
  // A connected client gets its child with its first message.
  FakeEventSink unused;
  if (kind == mcp::McpSession::Kind::sse) post(unused, note_text("hello"));
  child_ = &bench.start_child();
  child_->take_lines();
  return *session;
}

mcp::McpSession& McpWorld::greet(const std::string& revision) {
  open();
  FakeEventSink sink;
  post(sink, request_text("0", "initialize"));
  answer_next(R"({"protocolVersion":")" + revision + R"(","capabilities":{}})");
  EXPECT_TRUE(sink.json.has_value());
  return *session;
}

mcp::McpSession::Posted McpWorld::post(mcp::McpSession& to, FakeEventSink& sink, std::string text) {
  rpc::EnvelopeParser parser(bench.backend.envelope_limits());
  call::CallContext context;
  context.arrived = bench.clock.now();
  context.account = bench.account.get();
  const auto document = parser.parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  return to.post(*document, context, sink);
}

void McpWorld::leave(FakeEventSink& sink) {
  sink.leave();
  sessions.detach(id, sink);
}

void McpWorld::make_room(FakeEventSink& sink) {
  sink.backed_up = false;
  sessions.on_sink_writable(id);
}

void McpWorld::answer_next(const std::string& result) {
  if (asked_.empty()) {
    for (std::string& wire_id : child_->take_ids()) asked_.push_back(std::move(wire_id));
  }
  ASSERT_FALSE(asked_.empty()) << "the child has not been asked anything";
  const std::string wire_id = asked_.front();
  asked_.pop_front();
  child_->answer(wire_id, result);
}

}  // namespace stdgate::test
