// Seeded histories of a virtual server. Members answer, fail, hang, lie, lose sessions and change
// their lists at any point, while clients call, cancel, listen and leave.
//
// The law: each call is answered or withdrawn, once. When all clients have left, nothing remains.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/servers/server_bench.h"

namespace stdgate::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A client of either era without a session, or a client with a session.
struct Person {
  std::unique_ptr<FakeClient> client;
  std::unique_ptr<FakeSession> session;
  uint64_t next_id = 1;
  std::map<uint64_t, bool> open;  // by id of the call: whether it was cancelled
};

class History {
 public:
  explicit History(unsigned seed) : random_(seed), bench_({"a", "own", "b"}) {
    for (ScriptedMember* const member : bench_.members) {
      member->script = [this](const ScriptedMember::Asked& asked) { return answer_to(asked); };
    }
    bench_.advance(milliseconds(1));
    callers_ = bench_.callers.size();
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      bench_.advance(milliseconds(pick(4) == 0 ? pick(20'000) : pick(20)));
      for (Person& person : people_) check(person);
    }
    end();
  }

 private:
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }

  std::string answer_to(const ScriptedMember::Asked& asked) {
    const unsigned how = pick(10);
    if (how < 3) return "";  // answered later, or never
    if (how == 3) return R"("error":{"code":-32602,"message":"no"})";
    if (how == 4) return R"("error":{"code":-32601,"message":"no"})";
    if (asked.method == "tools/list") {
      std::string tools = R"("result":{"tools":[{"name":"t","inputSchema":{"type":"object"}})";
      if (pick(2) == 0) tools += R"(,{"name":"t","inputSchema":{"type":"object"}})";
      if (pick(3) == 0) tools += R"(,{"name":7},null,"x",{"name":"bad","inputSchema":[]})";
      if (pick(3) == 0) {
        tools +=
            R"(,{"name":"u)" + std::to_string(pick(5)) + R"(","inputSchema":{"type":"object"}})";
      }
      return tools + (pick(5) == 0 ? R"(],"nextCursor":"x"})" : "]}");
    }
    if (asked.method == "resources/list") {
      return R"("result":{"resources":[{"name":"x","uri":"x:)" + std::to_string(pick(3)) + "\"}]}";
    }
    if (asked.method == "resources/templates/list") {
      return R"("result":{"resourceTemplates":[{"name":"y","uriTemplate":"y:{id}"}]})";
    }
    if (asked.method == "tools/call") {
      return R"("result":{"task":{"taskId":")" + std::to_string(pick(5)) +
             R"("},"content":[{"type":"resource_link","name":"l","uri":"z:)" +
             std::to_string(pick(3)) +
             R"("}],"resultType":"input_required","inputRequests":)"
             R"({"q":{"method":"roots/list"}}})";
    }
    return with_tool("t")(asked);
  }

  void step() {
    switch (pick(12)) {
      case 0:
        return come();
      case 1:
        if (!people_.empty()) leave(pick(static_cast<unsigned>(people_.size())));
        return;
      case 2:
        return member().change_lists(static_cast<uint8_t>(1 + pick(7)));
      case 3:
        return lose_sessions();
      case 4:
        return speak();
      case 5:
      case 6:
        return answer_later();
      case 7:
        if (!people_.empty()) cancel(people_[pick(static_cast<unsigned>(people_.size()))]);
        return;
      case 8:
        if (pick(20) == 0) bench_.server->end_listening();
        return;
      default:
        if (!people_.empty()) call(people_[pick(static_cast<unsigned>(people_.size()))]);
    }
  }

  ScriptedMember& member() { return bench_.member(pick(3)); }

  void come() {
    if (people_.size() > 8) return;
    Person person;
    if (pick(2) == 0) {
      person.client = std::make_unique<FakeClient>(bench_.callers);
    } else {
      person.session = std::make_unique<FakeSession>(bench_.callers);
      session::Beginning beginning;
      if (pick(3) == 0) beginning.greeting = R"({"protocolVersion":"2025-11-25"})";
      bench_.open(*person.session, beginning);
    }
    people_.push_back(std::move(person));
  }

  void leave(size_t which) {
    Person person = std::move(people_[which]);
    people_.erase(people_.begin() + static_cast<std::ptrdiff_t>(which));
    check(person);
    if (person.client != nullptr) return bench_.server->cancel_calls_of(person.client->caller());
    if (pick(3) == 0) bench_.server->park_session(person.session->id);
    bench_.server->close_session(person.session->id, {});
  }

  void call(Person& person) {
    static const std::vector<std::pair<std::string, std::string>> kCalls = {
        {"tools/list", "{}"},
        {"resources/list", "{}"},
        {"tools/call", R"({"name":"a_t","arguments":{}})"},
        {"tools/call", R"({"name":"own_t","arguments":{}})"},
        {"tools/call", R"({"name":"b_u1"})"},
        {"tools/call", R"({"name":"none"})"},
        {"resources/read", R"({"uri":"x:1"})"},
        {"resources/read", R"({"uri":"y:1"})"},
        {"resources/read", R"({"uri":"z:1"})"},
        {"resources/read", R"({"uri":"nobody:1"})"},
        {"resources/subscribe", R"({"uri":"x:2"})"},
        {"resources/unsubscribe", R"({"uri":"x:2"})"},
        {"tasks/get", R"({"taskId":"1"})"},
        {"completion/complete", R"({"ref":{"type":"ref/resource","uri":"y:{id}"}})"},
        {"logging/setLevel", R"({"level":"debug"})"},
        {"ping", "{}"},
    };
    const auto& [method, params] = kCalls[pick(static_cast<unsigned>(kCalls.size()))];
    const uint64_t id = person.next_id++;
    person.open[id] = false;
    std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")";
    if (person.session != nullptr) {
      return bench_.send(*person.session, text + method + R"(","params":)" + params + "}", id);
    }
    const PeerKind peer_kind = pick(2) == 0 ? PeerKind::stateless : PeerKind::stateful;
    if (peer_kind == PeerKind::stateless && pick(4) == 0) {
      text += R"(subscriptions/listen","params":{"_meta":{},"notifications":{"toolsListChanged":)"
              R"(true,"resourceSubscriptions":["x:1","y:1","nobody:1"]}}})";
      return bench_.send(*person.client, text, peer_kind, id);
    }
    bench_.send(*person.client, text + method + R"(","params":)" + params + "}", peer_kind, id);
  }

  void cancel(Person& person) {
    if (person.open.empty()) return;
    auto one = person.open.begin();
    std::advance(one, pick(static_cast<unsigned>(person.open.size())));
    if (one->second) return;
    one->second = true;
    const std::string text =
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
        std::to_string(one->first) + "}}";
    if (person.session != nullptr) {
      bench_.send(*person.session, text);
    } else {
      bench_.send(*person.client, text);
    }
  }

  // Answers or fails any request that the member has received, at any time.
  void answer_later() {
    ScriptedMember& some = member();
    if (some.asked.empty()) return;
    const ScriptedMember::Asked asked = some.asked[pick(static_cast<unsigned>(some.asked.size()))];
    if (some.answered(asked)) return;
    if (pick(2) == 0) return some.fail(asked);
    some.answer(asked, with_tool("t")(asked));
  }

  void lose_sessions() {
    std::vector<session::SessionSink*> sinks;
    member().sessions.for_each([&](session::SessionId, const auto& one) {
      if (pick(2) == 0) sinks.push_back(one.second);
    });
    for (session::SessionSink* const sink : sinks) {
      sink->on_session_end(session::SessionEnd::failed, "it has gone");
    }
  }

  void speak() {
    static const std::vector<std::string> kTexts = {
        R"({"jsonrpc":"2.0","id":7,"method":"roots/list"})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})",
        R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}})",
        R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})",
        R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:1"}})",
        R"({"jsonrpc":"2.0","method":"anything"})",
    };
    member().say(kTexts[pick(static_cast<unsigned>(kTexts.size()))]);
  }

  // Takes the client's new answers. Each open call may have one answer.
  void check(Person& person) {
    const auto close = [&](uint64_t id) {
      EXPECT_EQ(person.open.erase(id), 1U) << "call " << id << " has no answer to come";
    };
    if (person.client != nullptr) {
      for (const auto& answer : std::exchange(person.client->answers, {})) close(answer.tag);
      for (const session::Tag tag : std::exchange(person.client->cancelled, {})) close(tag);
      return;
    }
    for (const std::string& text : person.session->take()) {
      if (text.find("\"method\"") != std::string::npos) continue;
      const size_t at = text.find("\"id\":");
      close(std::strtoull(text.c_str() + at + 5, nullptr, 10));
    }
    for (const session::Tag tag : std::exchange(person.session->cancelled, {})) close(tag);
  }

  void end() {
    while (!people_.empty()) leave(0);
    bench_.advance(seconds(60));
    EXPECT_EQ(bench_.server->calls(), 0U);
    EXPECT_EQ(bench_.server->status().sessions, 0U);
    EXPECT_EQ(bench_.callers.size(), callers_);
    EXPECT_EQ(bench_.account->used(), 0U);
    for (const ScriptedMember* const one : bench_.members) EXPECT_EQ(one->sessions.size(), 0U);
  }

  std::mt19937 random_;
  ServerBench bench_;
  std::vector<Person> people_;
  size_t callers_ = 0;
};

unsigned number_of(const char* variable, unsigned otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

TEST(VirtualServerFaults, NoHistoryLosesACallOrLeavesAnything) {
  const unsigned first = number_of("STDGATE_SIM_SEED", 1);
  const unsigned count = number_of("STDGATE_SIM_SEEDS", 200);
  for (unsigned seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("STDGATE_SIM_SEED=" + std::to_string(seed));
    History(seed).run(300);
  }
}

}  // namespace
}  // namespace stdgate::test
