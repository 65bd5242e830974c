// Random histories of servers that sleep. Some servers never change their lists, some change them
// with or without a notice, and some give each client another list.
//
// The law: a client that received a list while the server slept must end up with the list of the
// child that serves it. Either the two lists are equal, or the client is told of a change.

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "tests/unit/mcp/memory_bench.h"

namespace stdgate::test {
namespace {

enum class Honesty : uint8_t {
  constant,
  changes,    // with a new process
  announces,  // while it runs, and reports the change
  differs,    // with each process, without a notice
};

class MemoryHistory {
 public:
  MemoryHistory(uint64_t seed, config::Isolation isolation)
      : random_(seed),
        honesty_(static_cast<Honesty>(pick(4))),
        is_own_(isolation == config::Isolation::session),
        bench_(isolation) {}

  void run() {
    for (int i = 0; i < 120; ++i) {
      act();
      settle();
      bench_.backend.check_invariants();
      bench_.accounts.check_invariants();
    }
    for (Client& client : clients_) {
      if (client.is_open) bench_.close(client.session);
    }
    settle();
    EXPECT_EQ(bench_.backend.calls(), 0U);
    bench_.advance(minutes(10));
    settle();
    EXPECT_EQ(bench_.launcher.running(), 0U);
  }
  [[nodiscard]] int remembered() const { return bench_.observer.remembered; }
  [[nodiscard]] bool found_out() const { return bench_.memory->lists_differ(); }
  [[nodiscard]] int told() const { return told_; }
  [[nodiscard]] Honesty honesty() const { return honesty_; }

 private:
  struct Client {
    explicit Client(session::Callers& callers) : session(callers) {
      session.held = session::ClientHold::nothing;
    }
    FakeSession session;
    bool is_open = true;
    std::string seen;         // the last list; empty: none
    bool is_told = false;     // of a change, since that list
    bool slept = false;       // whether the server slept when the list was requested
    size_t child = SIZE_MAX;  // that first served the client since that list
  };
  struct Process {
    bool is_started = false;
    bool has_ended = false;
    int version = 0;
  };

  uint64_t pick(uint64_t count) { return random_() % count; }

  static std::string list_of(const Process& process) {
    return R"({"tools":[{"name":"v)" + std::to_string(process.version) + "\"}]}";
  }

  void act() {
    Client* const client = some_client();
    switch (pick(10)) {
      case 0:
      case 1:
        return begin();
      case 2:
      case 3:
        return send(client, "tools/list");
      case 4:
      case 5:
        return send(client, "tools/call");
      case 6:
        return bench_.advance(milliseconds(pick(3000)));
      case 7:
        if (client != nullptr && pick(2) == 0) {
          bench_.close(client->session);
          client->is_open = false;
        }
        return;
      case 8:
        if (honesty_ == Honesty::changes && pick(4) == 0) ++version_;
        return announce();
      default:
        // This takes the place of the transport, which parks idle sessions.
        if (client != nullptr) bench_.backend.park_session(client->session.id);
    }
  }

  Client* some_client() {
    std::vector<Client*> open;
    for (Client& client : clients_) {
      if (client.is_open) open.push_back(&client);
    }
    return open.empty() ? nullptr : open[pick(open.size())];
  }

  void begin() {
    if (clients_.size() > 20) return;
    Client& client = clients_.emplace_back(bench_.callers);
    const size_t launched = bench_.launcher.launched();
    if (bench_.open(client.session)) {
      client.is_open = false;
      return;
    }
    const int before = bench_.observer.remembered;
    bench_.send(client.session, greeting());
    if (bench_.observer.remembered > before) {
      EXPECT_EQ(bench_.launcher.launched(), launched) << "though nobody needed a child";
    }
    settle();
    bench_.send(client.session, note_text("notifications/initialized"));
  }

  void send(Client* client, const std::string& method) {
    if (client == nullptr) return;
    const bool sleeps = bench_.status().asleep;
    const int before = bench_.observer.remembered;
    const bool was_found_out = found_out();
    const size_t launched = bench_.launcher.launched();
    const std::string who = std::to_string(number_of(*client));
    const std::string params = method == "tools/list" ? "{}" : R"({"name":"t","who":)" + who + "}";
    bench_.send(client->session, R"({"jsonrpc":"2.0","id":")" + method + R"(","method":")" +
                                     method + R"(","params":)" + params + "}");
    if (method == "tools/list") {
      client->slept = bench_.observer.remembered > before;
      client->child = SIZE_MAX;
    }
    if (bench_.observer.remembered == before) return;
    EXPECT_TRUE(sleeps && method == "tools/list" && !was_found_out);
    EXPECT_EQ(bench_.launcher.launched(), launched);
  }

  size_t number_of(const Client& client) {
    size_t number = 0;
    while (&clients_[number] != &client) ++number;
    return number;
  }

  void announce() {
    if (honesty_ != Honesty::announces) return;
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (!processes_[i].is_started || processes_[i].has_ended || pick(2) == 0) continue;
      processes_[i].version = ++version_;
      bench_.child(i).say(kToolsChanged);
    }
  }

  // Lets all processes do their work, until no work is left.
  void settle() {
    for (int turn = 0; turn < 12; ++turn) {
      for (size_t i = 0; i < bench_.launcher.launched(); ++i) serve(i);
      bench_.settle();
      read();
    }
    for (Client& client : clients_) check(client);
  }

  void serve(size_t index) {
    if (processes_.size() <= index) processes_.resize(index + 1);
    Process& process = processes_[index];
    FakeChild& child = bench_.child(index);
    if (process.has_ended) return;
    if (!child.ends().empty()) {
      process.has_ended = true;
      return child.exit(0);
    }
    if (!std::exchange(process.is_started, true)) {
      if (honesty_ == Honesty::differs) ++version_;
      process.version = version_;
      child.start();
    }
    for (const std::string& line : child.take_lines()) {
      if (line.find(R"("id":)") == std::string::npos) continue;
      const auto is_of = [&](const char* method) { return line.find(method) != std::string::npos; };
      if (const size_t who = line.find(R"("who":)"); who != std::string::npos) {
        Client& client = clients_[std::stoul(line.substr(who + 6))];
        if (client.child == SIZE_MAX) client.child = index;
      }
      // Clients that share children are told of a change by the child that first answers any of
      // them.
      const bool is_call = is_of(R"("who":)") || is_of("tools/list");
      for (Client& client : clients_) {
        if (!is_own_ && is_call && client.child == SIZE_MAX) client.child = index;
      }
      child.answer(id_of(line), is_of("\"initialize\"") ? kTerms
                                : is_of("tools/list")   ? list_of(process)
                                                        : "true");
    }
  }

  static std::string id_of(const std::string& line) {
    const size_t at = line.find(R"("id":)") + 5;
    return line.substr(at, line.find_first_of(",}", at) - at);
  }

  void read() {
    for (Client& client : clients_) {
      for (const std::string& text : client.session.take()) {
        if (text == kToolsChanged) {
          ++told_;
          client.is_told = true;
        }
        if (const size_t at = text.find(R"({"tools":[)");
            at != std::string::npos && text.find("protocolVersion") == std::string::npos) {
          client.seen = text.substr(at, text.size() - at - 1);
          client.is_told = false;
        }
      }
    }
  }

  // Checks a client whose child has served it and still runs.
  void check(const Client& client) {
    const bool is_told_asleep = client.slept && !client.seen.empty();
    if (!client.is_open || !is_told_asleep || client.child == SIZE_MAX) return;
    const Process& process = processes_[client.child];
    if (process.has_ended) return;
    EXPECT_TRUE(client.is_told || client.seen == list_of(process))
        << "honesty " << static_cast<int>(honesty_) << (is_own_ ? ", own child: " : ", shared: ")
        << client.seen << " is not " << list_of(process);
  }

  std::mt19937_64 random_;
  const Honesty honesty_;
  const bool is_own_;
  MemoryBench bench_;
  std::deque<Client> clients_;
  std::vector<Process> processes_;
  int version_ = 0;
  int told_ = 0;
};

void run_histories(config::Isolation isolation) {
  std::array<int, 4> remembered{};
  std::array<int, 4> told{};
  std::array<int, 4> found_out{};
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MemoryHistory history(seed, isolation);
    history.run();
    if (testing::Test::HasFailure()) return;
    const auto honesty = static_cast<size_t>(history.honesty());
    remembered[honesty] += history.remembered();
    told[honesty] += history.told();
    found_out[honesty] += history.found_out() ? 1 : 0;
  }
  for (const int count : remembered) EXPECT_GT(count, 0);
  EXPECT_EQ(told[static_cast<size_t>(Honesty::constant)], 0);
  EXPECT_EQ(found_out[static_cast<size_t>(Honesty::constant)], 0);
  EXPECT_GT(told[static_cast<size_t>(Honesty::changes)], 0);
  EXPECT_GT(told[static_cast<size_t>(Honesty::differs)], 0);
  if (isolation != config::Isolation::session) return;
  EXPECT_GT(found_out[static_cast<size_t>(Honesty::differs)], 0);
}

TEST(MemoryHistories, OfSessionsWithChildrenOfTheirOwn) {
  run_histories(config::Isolation::session);
}

TEST(MemoryHistories, OfClientsThatShareChildren) { run_histories(config::Isolation::shared); }

}  // namespace
}  // namespace stdgate::test
