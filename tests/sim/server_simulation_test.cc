// A virtual server over real pools in simulated time: many seeds, each a different history. Clients
// of both eras come with and without sessions. Members die, sleep, hang, lie and change.
//
// The laws: each call is answered once by its own answer, or withdrawn. When all clients have left,
// no calls, sessions or bytes remain.
//
// A failing seed is repeated with STDGATE_SIM_SEED=<seed>. STDGATE_SIM_SEEDS sets how many seeds
// are run.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/backend/backend.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/virtual_server.h"
#include "tests/sim/sim_member.h"
#include "tests/sim/sim_protocols.h"
#include "tests/support/fake_client.h"
#include "tests/support/fake_seal.h"
#include "tests/support/fake_session.h"

namespace stdgate::sim {
namespace {

// Counts the calls of each backend. As many calls must end as begin.
class CallCounts final : public Observer {
 public:
  void on_call_started(BackendId backend) override { ++open_[backend]; }
  void on_call_finished(const CallRecord& record) override {
    --open_[record.backend];
    ++ended_[record.outcome.index()];
  }

  void check() const {
    for (const auto& [backend, count] : open_) EXPECT_EQ(count, 0) << "calls of " << backend;
  }
  [[nodiscard]] const std::map<uint8_t, uint64_t>& ended() const { return ended_; }

 private:
  std::map<BackendId, int64_t> open_;
  std::map<uint8_t, uint64_t> ended_;
};

// A client, with or without a session.
struct Person {
  std::unique_ptr<test::FakeClient> client;
  std::unique_ptr<test::FakeSession> session;
  policy::Client who;
  uint64_t next_id = 1;
  struct Open {
    std::string text;
    bool is_cancelled = false;
  };
  std::map<uint64_t, Open> open;  // calls by id
};

constexpr std::string_view kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},)"
    R"("io.modelcontextprotocol/clientCapabilities":{"roots":{}}})";

class ServerSimulation {
 public:
  explicit ServerSimulation(uint64_t seed) : world_(seed), launcher_(world_, draw_temper()) {
    for (const char* const name : {"plain", "own", "fresh"}) add_backend(name);
    config::ServerConfig team;
    team.name = "team";
    for (const config::BackendConfig& backend : config_.backends) {
      config::MemberConfig& member = team.members.emplace_back();
      member.backend = backend.name;
      member.prefix = backend.name + "_";
      member.wait = std::chrono::seconds(world_.pick(1, 20));
      member.is_required = world_.chance(0.05);
    }
    team.expose.is_search = world_.chance(0.1);
    config_.servers.push_back(team);
    all_members_ = team.members;
    server_ = std::make_unique<servers::VirtualServer>(
        BackendId{0}, servers::VirtualServerOptions{team, config_.limits, {}, {}, {}, "1"},
        make_dialect(config_.backends.front()), names_, callers_, services_);
    server_->attach(upstreams_, config_);
    upstreams_.start();
    step_until(world_.now() + std::chrono::seconds(1));
    own_callers_ = server_->own_callers();
  }

  void run() {
    constexpr int kActions = 200;
    for (int i = 0; i < kActions; ++i) {
      world_.after(world_.pick_duration(Duration{0}, std::chrono::seconds(90)),
                   [this] { let_somebody_act(); });
    }
    const bool ends_in_the_middle = world_.chance(0.2);
    step_until(world_.now() + std::chrono::seconds(ends_in_the_middle ? world_.pick(1, 80) : 100));
    is_over_ = true;
    if (!ends_in_the_middle) leave_alone();
    shut_down();
  }

  [[nodiscard]] uint64_t answered() const { return answered_; }
  [[nodiscard]] size_t children() const { return launcher_.started(); }
  [[nodiscard]] const CallCounts& counts() const { return counts_; }

 private:
  MemberTemper draw_temper() {
    MemberTemper temper;
    if (world_.chance(0.3)) {
      temper.fails_to_start = temper.never_starts = temper.dies = temper.ignores = 0;
    }
    if (world_.chance(0.2)) temper.dies = 0.1;
    return temper;
  }

  void add_backend(const std::string& name) {
    backend::BackendOptions options;
    config::BackendConfig& config = options.config;
    config.name = options.launch.backend = name;
    config.command = {"sim"};
    config.protocol = config::Protocol::mcp;
    config.isolation = name == "own" ? config::Isolation::session : config::Isolation::shared;
    config.timeout = std::chrono::seconds(world_.pick(1, 20));
    config.max_time = config.timeout * world_.pick(1, 3);
    config.revive = world_.chance(0.7);
    config.cache = world_.chance(0.7);
    config::PoolConfig& pool = config.pool;
    pool.max = static_cast<uint32_t>(world_.pick(2, 5));
    pool.min = static_cast<uint32_t>(world_.pick(0, 1));
    pool.sessions = static_cast<uint32_t>(world_.pick(1, 6));
    pool.max_in_flight = static_cast<uint32_t>(world_.pick(1, 8));
    pool.queue = static_cast<uint32_t>(world_.pick(1, 30));
    pool.start_timeout = std::chrono::seconds(1);
    pool.idle_timeout = std::chrono::seconds(world_.pick(1, 10));
    pool.min_hold = std::chrono::milliseconds(world_.pick(0, 3000));
    pool.sticky = world_.chance(0.8);
    pool.remember = world_.chance(0.5);
    if (pool.remember) options.make_sleeping = make_sleeping();
    if (world_.chance(0.3)) pool.max_age = std::chrono::seconds(world_.pick(2, 30));
    options.input_timeout = std::chrono::seconds(world_.pick(1, 10));
    options.has_principals = true;
    config_.backends.push_back(config);
    auto made =
        std::make_unique<backend::Backend>(static_cast<BackendId>(config_.backends.size()), options,
                                           make_dialect(config), callers_, services_);
    backends_.push_back(made.get());
    upstreams_.add(std::move(made));
  }

  void step_until(TimePoint end) {
    while (world_.now() < end && world_.step()) check_always();
  }

  void check_always() {
    for (backend::Backend* const backend : backends_) backend->check_invariants();
    if (server_ != nullptr) server_->check_invariants();
    world_.accounts().check_invariants();
    for (Person& person : people_) take(person);
  }

  // --- What clients do

  void let_somebody_act() {
    if (is_over_) return;
    if (people_.empty() || (people_.size() < 6 && world_.chance(0.1))) return come();
    Person& person = people_[world_.pick(0, people_.size() - 1)];
    const double what = static_cast<double>(world_.pick(0, 99)) / 100;
    if (what < 0.04) return leave(static_cast<size_t>(&person - people_.data()));
    if (what < 0.15) return cancel(person);
    if (what < 0.2 && person.session != nullptr) {
      server_->park_session(person.session->id);
      return;
    }
    if (what < 0.21) return server_->end_listening();
    if (what < 0.23 && is_reloaded_) return change_members();
    call(person);
  }

  // Changes the members as a reload of the configuration does.
  void change_members() {
    config::ServerConfig& team = config_.servers.front();
    std::vector<config::MemberConfig> left = all_members_;
    team.members.clear();
    while (!left.empty() && (team.members.empty() || world_.chance(0.8))) {
      const size_t which = world_.pick(0, left.size() - 1);
      team.members.push_back(left[which]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(which));
      if (world_.chance(0.1)) team.members.back().tools.exclude = {"t3"};
    }
    server_->take(team);
    server_->attach(upstreams_, config_);
  }

  void come() {
    Person person;
    const size_t which = world_.pick(0, 2);
    if (which > 0) {
      policy::Principal principal;
      principal.name = which == 1 ? "ann" : "bob";
      person.who.principal = std::make_shared<const policy::Principal>(principal);
    }
    person.who.address = ClientAddress::unix_user(static_cast<uint32_t>(which));
    person.who.account = world_.accounts().of({person.who.principal.get(), person.who.address});
    if (world_.chance(0.5)) {
      person.client = std::make_unique<test::FakeClient>(callers_);
      people_.push_back(std::move(person));
      return;
    }
    person.session = std::make_unique<test::FakeSession>(callers_);
    session::Beginning beginning;
    const bool is_adopted = world_.chance(0.2);
    if (is_adopted) beginning = {R"({"protocolVersion":"2025-11-25"})", "2025-11-25", {}};
    const auto id =
        server_->adopt_session(person.session->caller(), *person.session, person.who, beginning);
    if (!id) return;
    person.session->id = *id;
    people_.push_back(std::move(person));
    if (is_adopted) return;
    Person& came = people_.back();
    came.open[0] = {"initialize"};
    send(came,
         R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":)"
         R"("2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}})",
         0, PeerKind::stateful);
  }

  void leave(size_t which) {
    Person person = std::move(people_[which]);
    people_.erase(people_.begin() + static_cast<std::ptrdiff_t>(which));
    take(person);
    if (person.client != nullptr) return server_->cancel_calls_of(person.client->caller());
    server_->close_session(person.session->id, {});
  }

  void call(Person& person) {
    static const std::vector<std::pair<std::string, std::string>> kCalls = {
        {"tools/list", ""},
        {"tools/list", ""},
        {"resources/list", ""},
        {"tools/call", R"("name":"plain_t1","arguments":{"nonce":@})"},
        {"tools/call", R"("name":"own_t0","arguments":{"nonce":@})"},
        {"tools/call", R"("name":"own_t3","arguments":{"nonce":@})"},
        {"tools/call", R"("name":"fresh_t1","arguments":{"nonce":@})"},
        {"tools/call", R"("name":"nobody_t1","arguments":{"nonce":@})"},
        {"tools/call",
         R"("name":"call_tool","arguments":{"name":"plain_t0","arguments":{"nonce":@}})"},
        {"resources/read", R"("uri":"r:1")"},
        {"resources/read", R"("uri":"y:1")"},
        {"resources/read", R"("uri":"z:1")"},
        {"resources/read", R"("uri":"nobody:1")"},
        {"resources/subscribe", R"("uri":"r:1")"},
        {"resources/unsubscribe", R"("uri":"r:1")"},
        {"tasks/get", R"("taskId":"1")"},
        {"logging/setLevel", R"("level":"debug")"},
        {"ping", ""},
    };
    const auto& [method, own] = kCalls[world_.pick(0, kCalls.size() - 1)];
    const uint64_t id = person.next_id++;
    const bool is_modern = person.client != nullptr && world_.chance(0.7);
    const bool listens = is_modern && world_.chance(0.1);
    std::string members = is_modern ? std::string(kMeta) : "";
    if (listens) {
      members +=
          R"(,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["r:1","y:2"],)"
          R"("taskIds":["1","2"]})";
    } else if (!own.empty()) {
      members += (members.empty() ? "" : ",") + own;
    }
    if (const size_t at = members.find('@'); at != std::string::npos) {
      members.replace(at, 1, std::to_string(id));
    }
    const std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" +
                             (listens ? "subscriptions/listen" : method) + R"(","params":{)" +
                             members + "}}";
    person.open[id] = {text};
    send(person, text, id, is_modern ? PeerKind::stateless : PeerKind::stateful);
  }

  void cancel(Person& person) {
    if (person.open.empty()) return;
    auto one = person.open.begin();
    std::advance(one, world_.pick(0, person.open.size() - 1));
    if (std::exchange(one->second.is_cancelled, true)) return;
    send(person,
         R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
             std::to_string(one->first) + "}}",
         0, PeerKind::stateful);
  }

  void send(Person& person, std::string text, session::Tag tag, PeerKind peer_kind) {
    rpc::EnvelopeParser parser(server_->envelope_limits());
    call::CallContext context;
    context.caller = person.session == nullptr ? person.client->caller() : person.session->caller();
    if (person.session != nullptr) context.session = person.session->id;
    context.tag = tag;
    context.peer_kind = peer_kind;
    context.arrived = world_.now();
    context.account = person.who.account.get();
    context.wants_events = person.client != nullptr;
    context.principal = person.who.principal.get();
    context.client = &person.who.address;
    server_->accept(parser.parse(text).value().messages[0], context);
  }

  // --- What clients receive

  void close(Person& person, uint64_t id) {
    EXPECT_EQ(person.open.erase(id), 1U) << "call " << id << " has no answer to come";
    ++answered_;
  }

  void check_nonce(uint64_t id, const std::string& text) {
    const size_t at = text.find(R"("nonce":)");
    if (at == std::string::npos) return;
    EXPECT_EQ(std::strtoull(text.c_str() + at + 8, nullptr, 10), id) << "the answer of another";
  }

  void take(Person& person) {
    if (person.client != nullptr) {
      for (const auto& answer : std::exchange(person.client->answers, {})) {
        check_nonce(answer.tag, answer.text);
        close(person, answer.tag);
      }
      for (const session::Tag tag : std::exchange(person.client->cancelled, {})) close(person, tag);
      person.client->events.clear();
      return;
    }
    for (std::string& text : person.session->take()) {
      const rpc::KnownMessage known(text);
      const rpc::Envelope& message = known.envelope();
      if (message.kind == rpc::MessageKind::request) {
        answer_question(person, std::string(message.id));
      } else if (message.kind != rpc::MessageKind::notification) {
        const uint64_t id = std::strtoull(std::string(message.id).c_str(), nullptr, 10);
        check_nonce(id, text);
        close(person, id);
      }
    }
    for (const session::Tag tag : std::exchange(person.session->cancelled, {})) close(person, tag);
  }

  void answer_question(const Person& person, const std::string& id) {
    if (world_.chance(0.3)) return;
    world_.after(world_.pick_duration(Duration{1}, std::chrono::seconds(2)),
                 [this, session = person.session->id, id] {
                   for (Person& one : people_) {
                     if (one.session == nullptr || one.session->id != session) continue;
                     return send(one,
                                 R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"roots":[]}})", 0,
                                 PeerKind::stateful);
                   }
                 });
  }

  // --- The end

  void leave_alone() {
    while (!people_.empty()) leave(0);
    EXPECT_EQ(server_->calls(), 0U) << "calls outlive their clients";
    EXPECT_EQ(server_->status().sessions, 0U);
    EXPECT_EQ(callers_.size(), own_callers_);
    const TimePoint patience = world_.now() + std::chrono::minutes(3);
    while (upstreams_.calls() > 0 && world_.now() < patience && world_.step()) check_always();
    EXPECT_EQ(upstreams_.calls(), 0U) << "calls at members outlive the clients";
    step_until(world_.now() + std::chrono::minutes(1));  // ends the children of sessions
    for (backend::Backend* const backend : backends_) {
      EXPECT_EQ(backend->status().sessions, 0U) << backend->name();
      EXPECT_EQ(backend->status().watches, 0U) << backend->name();
    }
    EXPECT_EQ(world_.accounts().held_for_clients(), 0U) << "something is kept for nobody";
  }

  void shut_down() {
    server_->drain();
    upstreams_.drain();
    const TimePoint patience = world_.now() + std::chrono::minutes(3);
    while (server_->calls() + upstreams_.calls() > 0 && world_.now() < patience && world_.step()) {
      check_always();
    }
    EXPECT_EQ(server_->calls(), 0U) << "calls outlive every deadline";
    EXPECT_EQ(upstreams_.calls(), 0U) << "calls outlive every deadline";
    check_always();
    for (const Person& person : people_) {
      EXPECT_TRUE(person.open.empty())
          << "a call was never answered: " << person.open.begin()->second.text;
    }
    while (!people_.empty()) leave(0);
    upstreams_.end_children();
    const TimePoint last = world_.now() + std::chrono::seconds(30);
    while (upstreams_.has_children() && world_.now() < last && world_.step()) check_always();
    EXPECT_FALSE(upstreams_.has_children());
    EXPECT_EQ(launcher_.running(), 0U);
    EXPECT_EQ(callers_.size(), own_callers_) << "no clients, and still callers";
    EXPECT_EQ(world_.accounts().held_for_clients(), 0U) << "something is kept for nobody";
    counts_.check();
  }

  SimWorld world_;
  SimMembers launcher_;
  SilentLog log_;
  CallCounts counts_;
  test::FakeSeal seal_;
  session::Callers callers_{1000};
  pool::CoreServices services_{world_,
                               world_.timers(),
                               log_,
                               counts_,
                               launcher_,
                               world_.random(),
                               world_.storages(),
                               nullptr,
                               nullptr,
                               nullptr,
                               nullptr,
                               &seal_,
                               nullptr,
                               nullptr,
                               &world_.accounts()};
  config::Config config_;
  call::LabelNames names_{BackendId{0}, 100, counts_};
  backend::Upstreams upstreams_;
  std::vector<backend::Backend*> backends_;
  std::unique_ptr<servers::VirtualServer> server_;
  std::vector<Person> people_;
  std::vector<config::MemberConfig> all_members_;
  const bool is_reloaded_ = world_.chance(0.5);
  size_t own_callers_ = 0;
  uint64_t answered_ = 0;
  bool is_over_ = false;
};

TEST(ServerSimulation, EveryCallIsAnsweredOnce) {
  const auto [first, count] = SimSeeds(300);
  uint64_t answered = 0;
  uint64_t children = 0;
  std::map<uint8_t, uint64_t> ended;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("repeat with STDGATE_SIM_SEED=" + std::to_string(seed));
    ServerSimulation simulation(seed);
    simulation.run();
    if (testing::Test::HasFailure()) return;
    answered += simulation.answered();
    children += simulation.children();
    for (const auto& [kind, times] : simulation.counts().ended()) ended[kind] += times;
  }
  if (count < 100) return;
  EXPECT_GT(answered, 50 * count);
  EXPECT_GT(children, 5 * count);
  EXPECT_GT(ended.size(), 3U);
}

}  // namespace
}  // namespace stdgate::sim
