// McpWorld: the MCP sessions of one backend in memory, with the children, the responses and the
// time in the test's hand.
#pragma once

#include <deque>
#include <string>

#include "gateway/mcp/mcp_sessions.h"
#include "tests/support/fake_child.h"
#include "tests/support/fake_event_sink.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {

// Each session has a child of its own.
BackendOptions mcp_options(Isolation isolation = Isolation::session);

// tools/call with a progress token; `token` is raw JSON.
std::string tool_call(const std::string& id, const std::string& token);
std::string progress(const std::string& token, int step);

class McpWorld {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(5);
  static constexpr Duration kIdleTimeout = std::chrono::minutes(5);

  explicit McpWorld(const BackendOptions& options = mcp_options(), const LimitsConfig& limits = {});

  // Opens a session and starts its child. The test's session from here on.
  McpSession& open(McpSession::Kind kind = McpSession::Kind::streamable);
  // Opens a session whose child speaks this revision, and is initialized.
  McpSession& greet(const std::string& revision = "2025-11-25");

  McpSession::Posted post(FakeEventSink& sink, std::string text) {
    return post(*session, sink, std::move(text));
  }
  McpSession::Posted post(McpSession& session, FakeEventSink& sink, std::string text);
  void listen(FakeEventSink& sink) { session->listen(sink); }
  // The client of the response leaves.
  void leave(FakeEventSink& sink);
  void make_room(FakeEventSink& sink);

  // The child answers the oldest of its calls.
  void answer_next(const std::string& result = "true");
  // Whether the test's session can be found.
  [[nodiscard]] bool is_open() const { return sessions.find(id, kind_) != nullptr; }
  FakeChild& child() { return *child_; }

  LimitsConfig limits;
  BackendBench bench;
  McpSessions sessions;
  McpSession* session = nullptr;  // the one opened last; gone when it has ended
  std::string id;                 // its id

 private:
  std::string new_id() { return std::to_string(++opened_) + "-a-secret-of-this-session"; }

  int opened_ = 10000000;
  McpSession::Kind kind_ = McpSession::Kind::streamable;
  FakeChild* child_ = nullptr;
  std::deque<std::string> asked_;  // wire ids of calls that the child has taken
};

}  // namespace stdgate::test
