// Fuzz target: the input that `stdgate connect` gets from a server over the network. Whatever the
// input is, the client gets at most one answer to each request, and only whole JSON-RPC messages.
// No request is sent twice, except after a refusal. Nothing is read beyond the limits.
//
// The input is a history: a byte says what the server or the client does, and how many of the
// following bytes belong to it.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/remote/acp_remote.h"
#include "gateway/remote/http_remote.h"
#include "gateway/rpc/envelope.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_web.h"

namespace stdgate::test::connect_fuzz {
namespace {

using remote::WebMethod;

constexpr const char* kGreeting =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})";
constexpr const char* kAnswer =
    R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}})";
constexpr size_t kMaxSteps = 200;

class History {
 public:
  // The history of an agent's server, or of an MCP server.
  History(std::string_view input, bool is_agent) : all_(input), left_(input) {
    if (is_agent) {
      remote_ = std::make_unique<remote::AcpRemote>("https://x.example/acp", world_.services());
    } else {
      remote_ = std::make_unique<remote::HttpRemote>("https://x.example/mcp", world_.services());
    }
  }

  void run() {
    take(kGreeting);
    for (size_t step = 0; step < kMaxSteps && !left_.empty() && !world_.left; ++step) act(next());
    remote_->close([] {});
    check();
  }

 private:
  uint8_t next() {
    if (left_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }
  std::string_view text() {
    const std::string_view part = left_.substr(0, next());
    left_.remove_prefix(std::min(part.size(), left_.size()));
    return part;
  }
  void take(std::string text) {
    if (auto message = RemoteWorld::message(std::move(text))) remote_->take(*std::move(message));
  }
  FakeWeb::Sent* under_way() {
    std::vector<FakeWeb::Sent*> open;
    for (const auto& one : world_.web.sent) {
      if (one->events != nullptr) open.push_back(one.get());
    }
    return open.empty() ? nullptr : open[next() % open.size()];
  }

  void act(uint8_t what) {
    FakeWeb::Sent* const sent = under_way();
    switch (what % 10) {
      case 0:
        return take(R"({"jsonrpc":"2.0","id":)" + std::to_string(++last_id_) +
                    R"(,"method":"tools/call","params":{"name":"t","sessionId":"s"}})");
      case 1:
        return take(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
      case 2:
        return world_.wait(std::chrono::milliseconds(next() * 10));
      case 3:
        if (sent != nullptr && heads_.emplace(sent, 0).second) {
          constexpr int kStatuses[] = {200, 200, 200, 202, 400, 401, 404, 405, 500, 302};
          const int status = kStatuses[next() % 10];
          const char* const type = next() % 2 == 0 ? "text/event-stream" : "application/json";
          const std::string id(text());
          sent->head(status,
                     {{"content-type", type}, {"mcp-session-id", id}, {"acp-connection-id", id}});
        }
        return;
      case 4:
        if (sent != nullptr && heads_.contains(sent)) sent->body(text());
        return;
      case 5:
        if (sent != nullptr && heads_.contains(sent)) sent->end();
        return;
      case 6:
        if (sent != nullptr) sent->fail({remote::WebFailure::Kind::cut, "cut", next() % 2 == 0});
        return;
      case 7:
        if (sent != nullptr && heads_.contains(sent)) {
          sent->body("id: " + std::to_string(next()) + "\ndata: " + kAnswer + "\n\n");
        }
        return;
      case 8:
        if (sent != nullptr && heads_.contains(sent)) {
          sent->body(R"(data: {"jsonrpc":"2.0","id":)" + std::to_string(next() % 8) +
                     ",\"result\":1}\n\n");
        }
        return;
      default:
        return take(
            R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
            std::to_string(next() % 8) + "}}");
    }
  }

  void check() {
    std::map<std::string, size_t> answers;
    for (const std::string& message : world_.told) {
      std::string text = message;
      rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
      const auto document = parser.parse({text.data(), text.size()});
      require(document && document->messages[0].ok(), "whole messages", all_);
      require(message.find('\n') == std::string::npos, "one line each", all_);
      const rpc::Envelope& envelope = document->messages[0].envelope;
      if (envelope.method.empty()) ++answers[std::string(envelope.id)];
    }
    for (const auto& [id, count] : answers) require(count == 1, "one answer each", all_);
    std::map<std::string, size_t> bodies;
    for (const auto& one : world_.web.sent) {
      if (one->request.body.find("tools/call") != std::string::npos) ++bodies[one->request.body];
    }
    for (const auto& [body, count] : bodies) {
      require(count <= 40, "not without end", all_);
    }
  }

  const std::string_view all_;
  std::string_view left_;
  RemoteWorld world_;
  std::unique_ptr<remote::Remote> remote_;
  std::map<const FakeWeb::Sent*, int> heads_;
  size_t last_id_ = 0;
};

}  // namespace

void run(std::string_view input) {
  for (const bool is_agent : {false, true}) History(input, is_agent).run();
}

}  // namespace stdgate::test::connect_fuzz
