// Which clients are told that lists may have changed when rules are replaced, and which lists are
// named.
#include <gmock/gmock.h>

#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kTools = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";
const std::string kResources =
    R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed"})";

class McpListNotices : public testing::Test {
 public:
  static config::BackendConfig with_rule(const std::string& tool) {
    config::BackendConfig config;
    config.rules = {{.allow = {"*"}, .tools = {tool}},
                    {.allow = {"*"}, .methods = {"subscriptions/listen"}}};
    return config;
  }
  // A session of a client whose greeting its child has answered.
  static void greet(SharedClient& client, FakeChild* child = nullptr) {
    client.request("initialize", R"({"protocolVersion":"2025-11-25","capabilities":{}})");
    if (child != nullptr) {
      child->answer(child->take_ids().at(0), std::string(kGreeting));
    }
    client.send(note("initialized", "{}"));
    client.take();
  }
};

TEST_F(McpListNotices, SessionsThatShareChildrenHearWhatTheseDeclare) {
  ModernBench bench(config::Revision::legacy, config::Isolation::shared);
  FakeChild& child = bench.begin(0, kGreeting);
  SharedClient one(bench);
  SharedClient two(bench);
  greet(one);
  greet(two);
  bench.backend.set_rules(with_rule("a"), {});
  EXPECT_THAT(one.take(), ElementsAre(kTools, kResources)) << "of prompts it has not said it";
  EXPECT_THAT(two.take(), ElementsAre(kTools, kResources));
  bench.backend.set_rules(with_rule("a"), {});
  EXPECT_THAT(one.take(), IsEmpty()) << "nothing has changed";
  bench.backend.set_rules(with_rule("a"), {{.name = "unused", .includes = {"reader"}}});
  EXPECT_THAT(one.take(), IsEmpty()) << "no rule names that role";
  // While no child runs, the declarations of the last child apply.
  child.exit(0);
  bench.backend.set_rules(with_rule("b"), {});
  EXPECT_THAT(one.take(), ElementsAre(kTools, kResources));
}

TEST_F(McpListNotices, ChildrenThatDeclareNothingHaveNoNews) {
  SharedBench bench(2);
  SharedClient client(bench);
  greet(client);
  bench.backend.set_rules(with_rule("a"), {});
  EXPECT_THAT(client.take(), IsEmpty());
}

TEST_F(McpListNotices, SessionsWithAChildOfTheirOwnHearWhatItDeclares) {
  backend::BackendOptions options =
      ModernBench::options_of(config::Revision::legacy, config::Isolation::session);
  options.config.pool.min = 0;
  options.config.pool.max = 4;
  ModernBench bench(std::move(options));
  SharedClient one(bench);
  SharedClient silent(bench);
  one.call("0");
  FakeChild& child = bench.child(0);
  child.start();
  child.answer(child.take_ids().at(0));
  greet(one, &child);
  bench.backend.set_rules(with_rule("a"), {});
  EXPECT_THAT(one.take(), ElementsAre(kTools, kResources));
  EXPECT_THAT(silent.take(), IsEmpty()) << "it has not greeted its child";
}

std::string tag(const std::string& id) {
  return R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + "}}";
}

const auto kToolsTagged = testing::AllOf(testing::HasSubstr("notifications/tools/list_changed"),
                                         testing::HasSubstr(tag("\"s\"")));

void listen(ModernBench& bench, FakeClient& client) {
  bench.send_modern(client, request("\"s\"", "subscriptions/listen",
                                    R"("notifications":{"toolsListChanged":true})"));
}

TEST_F(McpListNotices, WhoListensAtALegacyChildHearsWhatItHasAskedForAndEnds) {
  ModernBench bench(config::Revision::legacy, config::Isolation::shared);
  bench.begin(0, kGreeting);
  FakeClient client(bench.callers);
  listen(bench, client);
  ASSERT_EQ(client.events.size(), 1U) << "that it listens";
  bench.backend.set_rules(with_rule("a"), {});
  ASSERT_EQ(client.events.size(), 2U);
  EXPECT_THAT(events_of(client)[1], kToolsTagged);
  EXPECT_EQ(client.answers.size(), 1U);
}

// Sessions are told through the call by which the gateway listens for them.
TEST_F(McpListNotices, AtAModernChildClientsOfBothErasHearIt) {
  ModernBench bench(config::Revision::modern, config::Isolation::shared);
  FakeChild& child = bench.begin(0, R"({"supportedVersions":["2026-07-28"],)"
                                    R"("capabilities":{"tools":{"listChanged":true}}})");
  SharedClient session(bench);
  greet(session);
  bench.advance(std::chrono::milliseconds(1));
  FakeClient client(bench.callers);
  listen(bench, client);
  bench.backend.set_rules(with_rule("a"), {});
  EXPECT_THAT(client.events, IsEmpty()) << "the child has not begun";
  EXPECT_EQ(client.answers.size(), 1U);
  listen(bench, client);
  for (const std::string& id : child.take_ids()) {
    child.say(note("subscriptions/acknowledged", tag(id)));
  }
  client.events.clear();
  bench.backend.set_rules(with_rule("b"), {});
  EXPECT_THAT(events_of(client), ElementsAre(kToolsTagged));
  EXPECT_THAT(session.take(), ElementsAre(testing::HasSubstr("notifications/tools/list_changed")));
}

}  // namespace
}  // namespace stdgate::test
