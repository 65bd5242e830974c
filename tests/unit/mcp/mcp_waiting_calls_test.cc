// Calls wait while their child dies, and the next child is of the other era. Each call reaches the
// next child in the right form, or ends. No call waits for ever, and no call gets the answer of
// another.

#include <set>

#include "tests/unit/mcp/trip_bench.h"

namespace stdgate::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kDiscovery =
    R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}})";
constexpr const char* kGreeting =
    R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}})";

// Plays the children of a server whose era changes with its version.
class ChangingServer {
 public:
  explicit ChangingServer(ModernBench& bench) : bench_(bench) {}

  // From now on the present child and its successors speak this era. Returns the messages that the
  // last child received, without greetings.
  Texts speak(PeerKind peer_kind) {
    Texts calls;
    for (int step = 0; step < 12; ++step) {
      if (now_ >= bench_.launcher.launched()) {
        bench_.advance(std::chrono::seconds(1));
        continue;
      }
      FakeChild& child = bench_.child(now_);
      if (started_.insert(now_).second) child.start();
      if (answer(child, peer_kind, calls)) {
        bench_.advance(std::chrono::milliseconds(30));
      } else {
        lose();
      }
    }
    return calls;
  }
  FakeChild& child() { return bench_.child(now_); }
  // The present child dies.
  void lose() {
    child().exit(1);
    ++now_;
    bench_.advance(std::chrono::seconds(2));
  }

 private:
  // Returns false if the child has refused a greeting, after which it ends.
  static bool answer(FakeChild& child, PeerKind peer_kind, Texts& calls) {
    bool stays = true;
    for (const std::string& line : child.take_lines()) {
      const bool discovers = line.find("server/discover") != std::string::npos;
      const bool greets = line.find("\"initialize\"") != std::string::npos;
      if (discovers && peer_kind == PeerKind::stateless) {
        child.answer(parse_asked(line).id, kDiscovery);
      } else if (greets && peer_kind == PeerKind::stateful) {
        child.answer(parse_asked(line).id, kGreeting);
      } else if (discovers || greets) {
        const std::string error =
            greets ? R"({"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}})"
                   : R"({"code":-32601,"message":"no"})";
        child.say(R"({"jsonrpc":"2.0","id":)" + parse_asked(line).id + R"(,"error":)" + error +
                  "}");
        stays = child.ends().empty();
      } else {
        calls.push_back(line);
      }
    }
    return stays;
  }

  ModernBench& bench_;
  std::set<size_t> started_;
  size_t now_ = 0;  // index of the present child at the launcher
};

backend::BackendOptions options_of_a_principal() {
  backend::BackendOptions options = trip_options(config::Isolation::shared);
  options.config.bridge = config::Bridge::automatic;
  options.config.serves_one = true;
  options.config.revision = config::Revision::automatic;
  options.config.pool.max = 1;
  options.config.pool.max_in_flight = 4;
  options.config.timeout = minutes(2);
  return options;
}

TEST(WaitingForATurn, TheServerIsUpgradedMeanwhile) {
  TripBench bench(options_of_a_principal());
  FakeClient first(bench.callers);
  FakeClient second(bench.callers);
  FakeClient third(bench.callers);
  const policy::Principal ada = named("ada");
  ChangingServer server(bench);
  bench.call(first, "1", "", kElicits, &ada);
  server.speak(PeerKind::stateful);
  bench.call(second, "10002", "", kElicits, &ada);
  server.lose();
  bench.call(third, "5", R"(,"arguments":{"who":"third"})", "{}", &ada);
  const Texts calls = server.speak(PeerKind::stateless);
  ASSERT_THAT(calls, SizeIs(2));
  std::set<std::string> ids;
  for (const std::string& line : calls) {
    const std::string id = parse_asked(line).id;
    EXPECT_TRUE(ids.insert(id).second) << "an id is used once at a time: " << line;
    const bool is_of_third = line.find("third") != std::string::npos;
    server.child().say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"of":")" +
                       (is_of_third ? "third" : "second") + "\"}}");
  }
  bench.settle();
  EXPECT_THAT(second.texts(), ElementsAre(AllOf(HasSubstr("\"id\":10002"), HasSubstr("second"))));
  EXPECT_THAT(third.texts(), ElementsAre(AllOf(HasSubstr("\"id\":5"), HasSubstr("third"))));
}

// The state in the retry belongs to a server that no longer exists.
TEST(WaitingRetry, TheServerIsRolledBackMeanwhile) {
  for (const bool sticky : {false, true}) {
    backend::BackendOptions options = trip_options(config::Isolation::shared);
    options.config.bridge = config::Bridge::on;
    options.config.revision = config::Revision::automatic;
    options.config.pool.min = 1;
    options.config.pool.max = 2;
    options.config.pool.max_in_flight = 1;
    options.config.pool.sticky = sticky;
    options.config.timeout = minutes(2);
    ModernBench bench(options);
    FakeClient first(bench.callers);
    FakeClient retrying(bench.callers);
    const policy::Principal ada = named("ada");
    ChangingServer server(bench);
    server.speak(PeerKind::stateless);
    const auto call = [](const std::string& id, const std::string& more) {
      return request(id, "tools/call", R"("name":"t")" + more, meta(kElicits));
    };
    bench.send_modern(first, call("1", ""), &ada);
    bench.send_modern(first, call("3", ""), &ada);
    bench.send_modern(retrying, call("2", R"(,"requestState":"s","inputResponses":{})"), &ada);
    server.lose();
    server.speak(PeerKind::stateful);
    EXPECT_THAT(retrying.texts(), ElementsAre(HasSubstr("\"error\""))) << sticky;
  }
}

}  // namespace
}  // namespace stdgate::test
