// McpWorld: the MCP sessions of one backend in memory. The test controls the children, the
// responses and the clock.
#pragma once

#include <deque>
#include <string>

#include "gateway/mcp/mcp_sessions.h"
#include "tests/support/backend_fixture.h"
#include "tests/support/fake_event_sink.h"
#include "tests/support/fake_seal.h"

namespace stdgate::test {

// By default each session has a child of its own.
backend::BackendOptions mcp_options(config::Isolation isolation = config::Isolation::session);

// tools/call with a progress token; `token` is raw JSON.
std::string tool_call(const std::string& id, const std::string& token);
std::string progress(const std::string& token, int step);

class McpWorld {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(5);
  static constexpr Duration kIdleTimeout = std::chrono::minutes(5);

  explicit McpWorld(const backend::BackendOptions& options = mcp_options(),
                    const config::LimitsConfig& limits = {});

  // Keep-alive after kPatience, and the given time for the first stream.
  static config::TimeoutsConfig timeouts_of(Duration first_stream = {}) {
    config::TimeoutsConfig timeouts;
    timeouts.keep_alive = kPatience;
    timeouts.first_stream = first_stream;
    return timeouts;
  }

  // Opens a session and starts its child. This session becomes the test's session.
  mcp::McpSession& open(mcp::McpSession::Kind kind = mcp::McpSession::Kind::streamable);
  // Opens a session, and initializes it with a child that speaks this revision.
  mcp::McpSession& greet(const std::string& revision = "2025-11-25");

  mcp::McpSession::Posted post(FakeEventSink& sink, std::string text) {
    return post(*session, sink, std::move(text));
  }
  mcp::McpSession::Posted post(mcp::McpSession& session, FakeEventSink& sink, std::string text);
  void listen(FakeEventSink& sink) { session->listen(sink); }
  // The client of the response leaves.
  void leave(FakeEventSink& sink);
  void make_room(FakeEventSink& sink);

  // The child answers the oldest of its calls.
  void answer_next(const std::string& result = "true");
  // Whether the test's session can be found.
  [[nodiscard]] bool is_open() const { return sessions.find(id, kind_, nullptr) != nullptr; }
  FakeChild& child() { return *child_; }

  config::LimitsConfig limits;
  config::TimeoutsConfig timeouts = timeouts_of();
  BackendBench bench;
  RandomSessionIds ids;
  mcp::McpSessions sessions;
  mcp::McpSession* session = nullptr;  // opened last; dangling after its end
  std::string id;                      // the session's id

 private:
  std::string new_id() { return "a-secret-of-this-session-" + std::to_string(++opened_); }

  int opened_ = 10000000;
  mcp::McpSession::Kind kind_ = mcp::McpSession::Kind::streamable;
  FakeChild* child_ = nullptr;
  std::deque<std::string> asked_;  // wire ids of the calls at the child
};

}  // namespace stdgate::test
