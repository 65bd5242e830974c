// The chain of a backend: the order of its filters, and what each filter sees of a call that
// another filter has refused.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "gateway/mcp/mcp_dialect.h"
#include "gateway/pool/dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;

// Keeps the methods of the reported calls, and their outcomes.
class OutcomeAudit final : public Audit {
 public:
  [[nodiscard]] bool covers(std::string_view /*method*/) const override { return true; }
  [[nodiscard]] bool can_record() const override { return can; }
  void describe_call(const AuditedCall& /*call*/, bool /*is_covered*/,
                     std::string& /*notes*/) override {}
  bool record_call(std::string_view /*backend*/, const CallRecord& call, bool is_covered,
                   std::string_view /*notes*/) override {
    if (is_covered) lines.emplace_back(call.outcome.name());
    return true;
  }
  void record_notification(std::string_view /*backend*/, const CallRecord& /*notification*/,
                           bool /*is_covered*/, std::string_view /*notes*/) override {}
  void on_child_message(const AuditedChildMessage& /*message*/) override {}
  void on_session_opened(const AuditedSession& /*session*/) override {}
  void on_session_ended(const AuditedSession& /*session*/) override {}
  void on_refused(const AuditedRefusal& /*refusal*/) override {}
  void on_handshake_refused(const AuditedHandshake& /*handshake*/) override {}

  bool can = true;
  std::vector<std::string> lines;
};

struct ChainOfABackend : testing::Test {
  ChainOfABackend() {
    options.config.pool.min = 1;
    options.config.rules = {rule};
    options.config.calls_per_principal.in_flight = 1;
  }
  // Makes the backend with the options that are set so far.
  void start(std::unique_ptr<pool::Dialect> dialect) {
    backend.emplace(BackendId{0}, options, std::move(dialect), callers, services);
  }
  void start() {
    start(std::make_unique<pool::JsonRpcDialect>(""));
    backend->start();
    launcher.child(0).start();
  }
  void send(const std::string& id, const std::string& method) {
    std::string text = request_text(id, method);
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    const ClientAddress address = *ClientAddress::parse("192.0.2.1");
    call::CallContext context;
    context.caller = client.caller();
    context.client = &address;
    context.arrived = clock.now();
    backend->accept(parser.parse(text).value().messages[0], context);
  }
  // The outcome of the last call.
  [[nodiscard]] std::optional<rpc::Fault> fault() const { return client.answers.back().fault; }

  config::RuleConfig rule{.allow = {"*"}, .except = {"denied"}};
  backend::BackendOptions options = plain_options();
  ManualClock clock;
  TimerQueue timers;
  RecordingLog log;
  RecordingObserver observer;
  FakeLauncher launcher;
  Random random{7};
  StoragePool storages;
  session::Callers callers{10};
  OutcomeAudit audit;
  policy::Overload overload{std::chrono::seconds(1)};
  pool::CoreServices services{clock,    timers,  log,     observer, launcher, random,
                              storages, nullptr, nullptr, &audit,   &overload};
  std::optional<backend::Backend> backend;
  FakeClient client{callers};
};

TEST_F(ChainOfABackend, IsInOrder) {
  start();
  EXPECT_THAT(backend->filters(), ElementsAre("names", "capacity", "audit", "quota", "rules",
                                              "sessions", "trace", "pool"));
}

TEST_F(ChainOfABackend, HasWhatItsProtocolNeeds) {
  options.config.cache = true;
  start(std::make_unique<mcp::McpDialect>("1"));
  EXPECT_THAT(backend->filters(),
              ElementsAre("names", "capacity", "audit", "quota", "eras", "rules", "lists", "modern",
                          "cache", "params", "sessions", "greetings", "trace", "bridge", "pool"));
}

TEST_F(ChainOfABackend, HasNothingThatIsNotConfigured) {
  services.audit = nullptr;
  options.config.calls_per_principal = {};
  start();
  EXPECT_THAT(backend->filters(),
              ElementsAre("names", "capacity", "rules", "sessions", "trace", "pool"));
}

// The names in the table of filters, from a page for those who add one.
std::vector<std::string> told_filters() {
  std::ifstream page(STDGATE_SOURCE_DIR "/docs/CONTRIBUTING.md");
  std::vector<std::string> names;
  bool is_in_table = false;
  for (std::string line; std::getline(page, line);) {
    is_in_table = line.starts_with("| filter | class |") || (is_in_table && line.starts_with("|"));
    if (is_in_table && line.starts_with("| `"))
      names.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return names;
}

TEST_F(ChainOfABackend, IsToldToThoseWhoAddAFilter) {
  options.config.cache = true;
  options.config.pins = config::Pins::enforce;
  start(std::make_unique<mcp::McpDialect>("1"));
  const auto names = backend->filters();
  auto told = told_filters();
  EXPECT_THAT(told, testing::SizeIs(testing::Gt(names.size())));
  std::erase_if(told, [&](const std::string& name) { return !std::ranges::count(names, name); });
  EXPECT_THAT(told, testing::ElementsAreArray(names.begin(), names.end()));
}

// More and more filters have a reason to refuse. The first of them in the chain refuses, and the
// others are not asked.
TEST_F(ChainOfABackend, WhatStandsFirstRefusesFirst) {
  start();
  send("1", "m");  // under way: the client may have no other call
  ASSERT_EQ(client.answers.size(), 0U);

  send("2", "denied");
  EXPECT_EQ(fault(), rpc::Fault::rate_limited) << "the quota, before the rules";
  EXPECT_EQ(observer.rejected[Rejection::denied], 0);
  EXPECT_THAT(audit.lines, ElementsAre("rate_limited")) << "which the audit sees";

  audit.can = false;
  send("3", "denied");
  EXPECT_EQ(fault(), rpc::Fault::unrecorded) << "the audit, before the quota";
  EXPECT_EQ(observer.rejected[Rejection::in_flight], 1) << "which has not been asked again";

  for (unsigned i = 0; i < policy::Overload::kFullReadings; ++i) overload.note_memory(1, 0);
  send("4", "denied");
  EXPECT_EQ(fault(), rpc::Fault::overloaded) << "memory, before the audit";
  EXPECT_THAT(audit.lines, ElementsAre("rate_limited", "unrecorded"));
  EXPECT_EQ(launcher.child(0).take_lines().size(), 1U) << "the first one";
  EXPECT_EQ(observer.records.back().method, "denied") << "names, before all others";
}

TEST_F(ChainOfABackend, WhatRulesDenyHasCountedAndCountsNoLonger) {
  start();
  send("1", "denied");
  EXPECT_EQ(observer.rejected[Rejection::denied], 1);
  EXPECT_THAT(audit.lines, ElementsAre("denied"));
  send("2", "m");
  EXPECT_EQ(client.answers.size(), 1U) << "the client may have one call under way, and has it";
  EXPECT_EQ(launcher.child(0).take_lines().size(), 1U);
}

}  // namespace
}  // namespace stdgate::test
