// MemoryBench: an MCP backend over fake children. The gateway remembers the server while it sleeps.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "gateway/mcp/mcp_dialect.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/mcp/memory_filter.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {

inline const std::string kTerms =
    R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},)"
    R"("serverInfo":{"name":"s","version":"1"}})";
inline const std::string kOneTool = R"({"tools":[{"name":"a"}]})";
inline const std::string kTwoTools = R"({"tools":[{"name":"a"},{"name":"b"}]})";
inline const std::string kToolsChanged =
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

// The initialize of a client of this revision.
inline std::string greeting(const std::string& revision = "2025-11-25",
                            const std::string& capabilities = "{}") {
  return R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":")" +
         revision + R"(","capabilities":)" + capabilities +
         R"(,"clientInfo":{"name":"c","version":"2"}}})";
}

inline backend::BackendOptions remembered(config::Isolation isolation,
                                          std::shared_ptr<mcp::ServerMemory> memory) {
  backend::BackendOptions options = plain_options();
  options.config.protocol = config::Protocol::mcp;
  options.config.isolation = isolation;
  options.config.revive = true;
  options.config.pool.remember = true;
  options.config.pool.max = 4;
  options.config.pool.idle_timeout = seconds(1);
  options.make_sleeping = [memory =
                               std::move(memory)](const backend::SleepingServer::Parts& parts) {
    return std::make_unique<mcp::MemoryFilter>([memory] { return memory; }, parts);
  };
  return options;
}

class MemoryBench : public BackendBench {
 public:
  explicit MemoryBench(config::Isolation isolation, std::shared_ptr<mcp::ServerMemory> kept = {})
      : MemoryBench(isolation, kept == nullptr ? fresh() : std::move(kept), 0) {}

  static std::shared_ptr<mcp::ServerMemory> fresh() {
    return std::make_shared<mcp::ServerMemory>([] {});
  }

  // The child that was launched last.
  FakeChild& last() { return child(launcher.launched() - 1); }
  // Starts the child, and lets it answer the gateway's handshake.
  FakeChild& greet_shared(const std::string& terms = kTerms) {
    FakeChild& process = last();
    process.start();
    process.answer(process.take_ids().at(0), terms);
    process.take_lines();
    return process;
  }
  // Starts the child, and lets it answer its handshake and all further requests.
  void serve(const std::string& list, const std::string& terms = kTerms) {
    FakeChild& process = last();
    process.start();
    process.answer(id_in(process.take_line()), terms);
    for (int turn = 0; turn < 6; ++turn) {
      for (const std::string& line : process.take_lines()) {
        if (line.find(R"("id":)") == std::string::npos) continue;
        const bool is_list = line.find("tools/list") != std::string::npos;
        process.answer(id_in(line), is_list ? list : "true");
      }
      settle();
    }
  }
  // Opens a session with a child of its own, which answers the session's greeting.
  FakeChild& greet_own(FakeSession& session, const std::string& text = greeting(),
                       const std::string& terms = kTerms) {
    EXPECT_FALSE(open(session));
    send(session, text);
    FakeChild& process = last();
    process.start();
    process.answer(process.take_ids().at(0), terms);
    send(session, note_text("notifications/initialized"));
    process.take_lines();
    session.take();
    return process;
  }
  // Ends the children that were ended for being idle.
  void fall_asleep() {
    for (size_t i = 0; i < launcher.launched(); ++i) {
      if (!child(i).ends().empty() && ended_.insert(i).second) child(i).exit(0);
    }
    settle();
  }
  void idle() {
    advance(seconds(2));
    fall_asleep();
  }

  std::shared_ptr<mcp::ServerMemory> memory;

 private:
  MemoryBench(config::Isolation isolation, const std::shared_ptr<mcp::ServerMemory>& kept,
              int /*unused*/)
      : BackendBench(remembered(isolation, kept), std::make_unique<mcp::McpDialect>("1")),
        memory(kept) {}

  std::set<size_t> ended_;
};

}  // namespace stdgate::test
