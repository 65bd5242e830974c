// ServerMemory: limits, what is learnt about a server, and its text form.

#include "gateway/mcp/server_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "gateway/policy/accounts.h"
#include "tests/support/manual_clock.h"

namespace stdgate::test {
namespace {

using mcp::Learned;
using mcp::McpListKind;
using mcp::MemorySource;
using mcp::ServerMemory;

bool runs(const MemorySource& /*source*/) { return true; }
bool has_ended(const MemorySource& /*source*/) { return false; }

MemorySource source(uint64_t session, std::string principal = {}) {
  return {std::move(principal), 1, session, session};
}

class ServerMemoryTest : public testing::Test {
 protected:
  Learned learn(const std::string& list, const MemorySource& from,
                bool (*still_runs)(const MemorySource&) = has_ended) {
    return memory_.learn_list("v", PeerKind::stateful, McpListKind::tools, list, from, false,
                              still_runs);
  }

  int changes_ = 0;
  ServerMemory memory_{[this] { ++changes_; }};
};

TEST_F(ServerMemoryTest, KnowsWhatIsNew) {
  EXPECT_EQ(learn("{}", source(1)), Learned::first);
  EXPECT_EQ(learn("{}", source(1)), Learned::same);
  EXPECT_EQ(learn(R"({"tools":[]})", source(1)), Learned::changed);
  EXPECT_EQ(memory_.learn_greeting("v", PeerKind::stateful, "{}"), Learned::first);
  EXPECT_EQ(memory_.learn_greeting("v", PeerKind::stateful, "{}"), Learned::same);
  EXPECT_EQ(memory_.learn_greeting("v", PeerKind::stateful, "[]"), Learned::changed);
  EXPECT_EQ(changes_, 4);
  EXPECT_EQ(memory_.learn_greeting("v", PeerKind::stateless, "{}"), Learned::first);
  EXPECT_EQ(memory_.list("v", McpListKind::tools), nullptr) << "it is another server";
}

TEST_F(ServerMemoryTest, FindsOutListsThatDiffer) {
  learn("{}", source(1, "ada"));
  EXPECT_EQ(learn("[]", source(2, "bob")), Learned::differs);
  EXPECT_TRUE(memory_.lists_differ());
  EXPECT_EQ(memory_.list("v", McpListKind::tools), nullptr);
  EXPECT_EQ(learn("{}", source(3, "ada")), Learned::ignored);
}

TEST_F(ServerMemoryTest, AnotherVersionMayListTheSameToAll) {
  const auto greet = [this](const std::string& version, const std::string& more) {
    return memory_.learn_greeting(
        "v", PeerKind::stateful,
        R"({"serverInfo":{"name":"s","version":")" + version + "\"}" + more + "}");
  };
  greet("1", "");
  learn("{}", source(1, "ada"));
  learn("[]", source(2, "bob"));
  EXPECT_EQ(greet("1", R"(,"instructions":"for ada")"), Learned::changed);
  EXPECT_TRUE(memory_.lists_differ()) << "what is for one client says nothing";
  EXPECT_EQ(greet("2", ""), Learned::changed);
  EXPECT_FALSE(memory_.lists_differ());
  EXPECT_EQ(learn("{}", source(3, "ada")), Learned::first);
}

TEST_F(ServerMemoryTest, TellsAListOfASessionFromOneThatChanges) {
  learn("{}", source(1));
  EXPECT_EQ(learn("[]", source(2), has_ended), Learned::changed);
  EXPECT_EQ(learn("[]", source(3), has_ended), Learned::same) << "seen by two";
  EXPECT_EQ(learn("{}", source(4), has_ended), Learned::changed);
  EXPECT_EQ(learn("[]", source(5), has_ended), Learned::differs) << "twice, with nobody agreeing";
}

TEST_F(ServerMemoryTest, TellsItAtOnceWhereBothRun) {
  learn("{}", source(1));
  EXPECT_EQ(learn("[]", source(1), runs), Learned::changed) << "the same child says so";
  EXPECT_EQ(learn("{}", source(2), runs), Learned::differs);
}

TEST_F(ServerMemoryTest, TakesWhatIsNotTooLarge) {
  const std::string most(ServerMemory::kMaxEntry, ' ');
  EXPECT_EQ(learn(most, source(1)), Learned::first);
  EXPECT_EQ(learn(most + " ", source(1)), Learned::ignored);
  EXPECT_EQ(memory_.learn_greeting("v", PeerKind::stateful, most + " "), Learned::ignored);
  const std::string name(ServerMemory::kMaxName + 1, 'n');
  EXPECT_EQ(memory_.learn_greeting(name, PeerKind::stateful, "{}"), Learned::ignored);
  for (size_t i = 0; i < 2 * ServerMemory::kMaxVariants; ++i) {
    memory_.learn_greeting("v" + std::to_string(i), PeerKind::stateful, most);
    EXPECT_LE(memory_.bytes(), ServerMemory::kMaxBytes);
    EXPECT_NE(memory_.greeting("v" + std::to_string(i)), nullptr) << "the last one stays";
  }
}

TEST_F(ServerMemoryTest, KeepsSoManyVariants) {
  for (size_t i = 0; i <= ServerMemory::kMaxVariants; ++i) {
    memory_.learn_greeting(std::to_string(i), PeerKind::stateful, "{}");
  }
  EXPECT_EQ(memory_.greeting("0"), nullptr);
  EXPECT_NE(memory_.greeting("1"), nullptr);
  EXPECT_NE(memory_.greeting(std::to_string(ServerMemory::kMaxVariants)), nullptr);
}

TEST_F(ServerMemoryTest, ReadsWhatItHasWritten) {
  memory_.learn_greeting("", PeerKind::stateless, R"({"a":"é\u0000\\"})");
  memory_.learn_greeting("2025\n{\"roots\":{}}", PeerKind::stateful, R"({"b":[1,{}]})");
  memory_.learn_list("", PeerKind::stateless, McpListKind::templates, R"({"resourceTemplates":[]})",
                     {}, true, has_ended);
  memory_.note_sessions(true);
  ServerMemory other([] {});
  ASSERT_TRUE(other.read(memory_.text()));
  EXPECT_EQ(other.text(), memory_.text());
  EXPECT_EQ(other.bytes(), memory_.bytes());
  EXPECT_EQ(*other.greeting("2025\n{\"roots\":{}}"), R"({"b":[1,{}]})");
  EXPECT_EQ(other.peer_kind({}), PeerKind::stateless);
  EXPECT_TRUE(other.has_no_sessions());
}

TEST_F(ServerMemoryTest, TakesNoOtherText) {
  memory_.learn_greeting("v", PeerKind::stateful, "{}");
  learn("{}", source(1));
  const std::string good = memory_.text();
  const auto with = [&](const std::string& old, const std::string& replacement) {
    std::string text = good;
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return text.replace(at, old.size(), replacement);
  };
  const std::string bad[] = {
      "",
      "{}",
      "[" + good + "]",
      with("memory", "other"),
      with(R"("variants":[)", R"("variants":[1,)"),
      with(R"("variants":[)", R"("variants":[{"name":"v","era":"legacy"},)"),
      with(R"("name":"v")", R"("name":1)"),
      with(R"("name":"v")", R"("other":"v")"),
      with(R"("era":"legacy")", R"("era":"future")"),
      with(R"("greeting":{})", R"("greeting":[])"),
      with(R"("tools":{})", R"("tools":"{}")"),
      with(R"("tools":{})", R"("tools":{},"tools":{})"),
  };
  for (const std::string& text : bad) {
    ServerMemory other([] {});
    EXPECT_FALSE(other.read(text)) << text;
    EXPECT_EQ(other.bytes(), 0U) << text;
  }
  for (size_t end = 0; end < good.size(); ++end) {
    ServerMemory other([] {});
    EXPECT_FALSE(other.read(good.substr(0, end))) << end;
  }
}

class MemoryTexts final : public mcp::MemoryStore {
 public:
  std::optional<std::string> load(std::string_view key) override {
    const auto found = texts.find(std::string(key));
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  }
  void save(std::string_view key, std::string text) override {
    texts[std::string(key)] = std::move(text);
    ++saved;
  }
  std::map<std::string, std::string> texts;
  size_t saved = 0;
};

class ServerMemoriesTest : public testing::Test {
 protected:
  [[nodiscard]] mcp::ServerMemories::Services services() {
    return {clock_, timers_, &store_, accounts_.servers()};
  }
  void advance(Duration time) {
    clock_.set(clock_.now() + time);
    timers_.run_due(clock_.now());
  }

  ManualClock clock_;
  TimerQueue timers_;
  MemoryTexts store_;
  policy::Accounts accounts_{{.gateway = 64 << 20, .client = 1 << 20}};
};

TEST_F(ServerMemoriesTest, AreFoundAgain) {
  {
    mcp::ServerMemories memories(services());
    memories.of("k")->learn_greeting("v", PeerKind::stateful, "{}");
    EXPECT_NE(memories.of("k")->greeting("v"), nullptr);
    EXPECT_EQ(memories.of("other")->greeting("v"), nullptr);
  }
  mcp::ServerMemories later(services());
  EXPECT_NE(later.of("k")->greeting("v"), nullptr);
}

TEST_F(ServerMemoriesTest, AreSavedOnceForManyChanges) {
  mcp::ServerMemories memories(services());
  const auto first = memories.of("first");
  const auto second = memories.of("second");
  for (int i = 0; i < 100; ++i) {
    first->learn_greeting("v", PeerKind::stateful, "{\"n\":" + std::to_string(i) + "}");
    second->learn_greeting("v", PeerKind::stateful, "{\"n\":" + std::to_string(i) + "}");
    advance(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(store_.saved, 0U);
  advance(mcp::ServerMemories::kSaveDelay);
  EXPECT_EQ(store_.saved, 1U) << "one at a time";
  advance(std::chrono::milliseconds(10));
  EXPECT_EQ(store_.saved, 2U);
  advance(std::chrono::hours(1));
  EXPECT_EQ(store_.saved, 2U);
  EXPECT_NE(store_.texts["second"].find("99"), std::string::npos);
}

TEST_F(ServerMemoriesTest, ForgetThoseThatNobodyUses) {
  mcp::ServerMemories memories(services());
  const auto used = memories.of("used");
  for (size_t i = 0; i < 2 * mcp::ServerMemories::kMaxServers; ++i) {
    memories.of(std::to_string(i));
    EXPECT_LE(memories.size(), mcp::ServerMemories::kMaxServers);
  }
  EXPECT_EQ(memories.of("used"), used);
  memories.of("new")->learn_greeting("v", PeerKind::stateful, "{}");
  memories.drop_unused();
  EXPECT_EQ(memories.size(), 1U);
  EXPECT_TRUE(store_.texts.contains("new")) << "it was saved before";
}

TEST_F(ServerMemoriesTest, TakeNoMoreThanTheirAccountHas) {
  mcp::ServerMemories memories(services());
  const std::string large = "{\"a\":\"" + std::string(900 << 10, 'x') + "\"}";
  std::vector<std::shared_ptr<ServerMemory>> used;
  for (int i = 0; i < 20; ++i) {
    used.push_back(memories.of(std::to_string(i)));
    used.back()->learn_list("v", PeerKind::stateful, McpListKind::tools, large, source(1), false,
                            has_ended);
    ASSERT_LE(accounts_.gateway().used(), accounts_.gateway().bound() / 8);
    accounts_.check_invariants();
  }
  EXPECT_NE(used.front()->list("v", McpListKind::tools), nullptr) << "the first ones are kept";
  EXPECT_EQ(used.back()->list("v", McpListKind::tools), nullptr);
  used.clear();
  memories.drop_unused();
  EXPECT_EQ(accounts_.gateway().used(), 0U);
}

}  // namespace
}  // namespace stdgate::test
