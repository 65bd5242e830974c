#include "tests/bench/mcp_dialogue.h"

#include <string_view>

namespace stdgate::bench {
namespace {

constexpr std::string_view kAccept = "Accept: application/json, text/event-stream\r\n";
constexpr std::string_view kInitialize =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",)"
    R"("capabilities":{},"clientInfo":{"name":"load","version":"1"}}})";
constexpr std::string_view kInitialized =
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

}  // namespace

void McpDialogue::begin() {
  sessions_.reserve(options_.sessions);
  initialize();
}

void McpDialogue::initialize() {
  step_ = Step::initialize;
  channel_.send(request_head("POST", kAccept, kInitialize.size()));
  channel_.send(kInitialize);
}

void McpDialogue::begin_calls(Instant now) { call_in_turn(now); }

void McpDialogue::call_in_turn(Instant now) {
  if (sessions_.size() > 1) prepare_calls(sessions_[next_]);
  next_ = (next_ + 1) % sessions_.size();
  call_again(now);
}

HttpDialogue::Checked McpDialogue::on_answer(const HttpAnswer& answer, Instant now) {
  switch (step_) {
    case Step::initialize:
      return end_initialize(answer);
    case Step::initialized:
      if (answer.status != 202) {
        return tl::unexpected("notifications/initialized: status " + std::to_string(answer.status));
      }
      if (sessions_.size() < options_.sessions) {
        initialize();
        return {};
      }
      step_ = Step::calls;
      prepare_calls(sessions_[0]);
      ++tally_.ready;
      return {};
    case Step::calls:
      break;
    case Step::end:
      --tally_.ready;
      return {};
  }
  if (!book_.is_open(0)) return tl::unexpected(std::string("an answer that nobody asked for"));
  close_call(answer, message_of(answer), now);
  call_in_turn(now);
  return {};
}

void McpDialogue::end() {
  if (sessions_.size() > 1) return HttpDialogue::end();
  step_ = Step::end;
  channel_.send(request_head("DELETE", sessions_[0], 0));
}

HttpDialogue::Checked McpDialogue::end_initialize(const HttpAnswer& answer) {
  const std::string_view body(answer.body.data(), answer.body.size());
  if (answer.status != 200 || body.find("\"result\"") == std::string_view::npos) {
    return tl::unexpected("initialize: status " + std::to_string(answer.status) + ": " +
                          std::string(body.substr(0, 200)));
  }
  // Servers without sessions do not send the field.
  const std::string_view session = http_field(answer.head, "mcp-session-id");
  std::string& fields = sessions_.emplace_back(kAccept);
  if (!session.empty()) fields.append("Mcp-Session-Id: ").append(session).append("\r\n");
  fields += "MCP-Protocol-Version: 2025-06-18\r\n";
  channel_.send(request_head("POST", fields, kInitialized.size()));
  channel_.send(kInitialized);
  step_ = Step::initialized;
  return {};
}

void ModernDialogue::begin() {
  prepare_calls(
      "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
      "Mcp-Method: tools/call\r\nMcp-Name: echo\r\n");
  ++tally_.ready;
}

HttpDialogue::Checked ModernDialogue::on_answer(const HttpAnswer& answer, Instant now) {
  if (!book_.is_open(0)) return tl::unexpected(std::string("an answer that nobody asked for"));
  close_call(answer, message_of(answer), now);
  call_again(now);
  return {};
}

}  // namespace stdgate::bench
