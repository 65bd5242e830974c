// The lines of the audit, and its behaviour when it cannot write.
#include <gmock/gmock.h>

#include "tests/unit/audit/audit_world.h"

namespace stdgate {
namespace {

using test::AuditWorld;
using test::FileSizeLimit;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The part of a line after the members of the chain.
std::string rest_of(const std::string& line) {
  const size_t at = line.find(",\"time\"");
  return at == std::string::npos ? line : line.substr(at + 1);
}

policy::Principal ci() {
  policy::Principal principal;
  principal.name = "ci";
  return principal;
}

AuditedCall sample(const policy::Principal& principal) {
  AuditedCall call;
  call.client = {&principal, *ClientAddress::parse("192.0.2.7")};
  call.element = "tool";
  call.name = "read_file";
  call.params = R"({"name":"read_file","arguments":{"path":"/etc","token":"hush"}})";
  return call;
}

config::AuditConfig with(config::AuditArguments arguments) {
  config::AuditConfig config;
  config.arguments = arguments;
  return config;
}

TEST(AuditLog, WritesALineForACall) {
  AuditWorld world;
  world.open();
  const policy::Principal principal = ci();
  EXPECT_TRUE(world.call("tools/call", Outcome::ok(), sample(principal)));
  EXPECT_EQ(world.lines().size(), 0U);  // not yet
  world.settle();
  ASSERT_EQ(world.lines().size(), 2U);
  EXPECT_THAT(world.lines()[0],
              StartsWith(R"({"sequence":1,"previous":")" + std::string(64, '0') + R"(",)"));
  EXPECT_EQ(rest_of(world.lines()[1]),
            R"("time":"2026-01-02T03:04:05.678Z","event":"call","backend":"files",)"
            R"("transport":"rpc","method":"tools/call","outcome":"ok","duration_ms":1.234,)"
            R"("connection":7,"principal":"ci","principal_kind":"api_key","address":"192.0.2.7",)"
            R"("tool":"read_file","arguments":"sha256:)"
            R"(f2d4e8bbf64244f9d4100afb8b883d8839ad130e2a74428ccc8edc62076f00ed"})");
}

TEST(AuditLog, WritesALineForWhatAnAgentAsksAndTells) {
  AuditWorld world;
  world.open();
  AuditedChildMessage message{.backend = "agent",
                              .session = {},
                              .client = {},
                              .method = "session/request_permission",
                              .asks = true,
                              .outcome = "answered",
                              .of_session = "s-1",
                              .title = "rm \"x\"\n",
                              .option = "allow",
                              .open = std::chrono::seconds(90)};
  world.log->on_child_message(message);
  message.asks = false;
  message.outcome = {};
  message.method = "session/update";
  message.option = {};
  world.log->on_child_message(message);
  world.settle();
  const std::vector<std::string> lines = world.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], HasSubstr(R"("event":"asked","backend":"agent",)"
                                  R"("method":"session/request_permission","outcome":"answered",)"
                                  R"("duration_ms":90000.000)"));
  EXPECT_THAT(lines[1], HasSubstr(R"("acp_session":"s-1","title":"rm \"x\"\n","option":"allow")"));
  EXPECT_THAT(lines[2], HasSubstr(R"("event":"told","backend":"agent","method":"session/update")"));
  EXPECT_THAT(lines[2], Not(HasSubstr("duration_ms")));
  message.outcome = "denied";
  world.log->on_child_message(message);
  world.settle();
  EXPECT_THAT(world.lines().back(),
              HasSubstr(R"("event":"told","backend":"agent","method":"session/update",)"
                        R"("outcome":"denied","acp_session")"));
  for (uint32_t i = 0; i < 2 * audit::AuditLog::kMaxRefusalsPerSecond; ++i) {
    world.log->on_child_message(message);
  }
  world.settle();
  EXPECT_EQ(world.lines().size(), 3 + audit::AuditLog::kMaxRefusalsPerSecond);
}

TEST(AuditLog, ShowsArgumentsAsIsConfigured) {
  const policy::Principal principal = ci();
  const std::pair<config::AuditArguments, const char*> kinds[] = {
      {config::AuditArguments::redacted,
       R"("arguments":"{\"name\":\"read_file\",\"arguments\":{\"path\":\"/etc\",\"token\":\"***\"}}"})"},
      {config::AuditArguments::full,
       R"("arguments":"{\"name\":\"read_file\",\"arguments\":{\"path\":\"/etc\",\"token\":\"hush\"}}"})"}};
  for (const auto& [kind, expected] : kinds) {
    AuditWorld world;
    world.open(with(kind), {"token"});
    world.call("tools/call", Outcome::ok(), sample(principal));
    world.settle();
    EXPECT_THAT(world.lines().back(), EndsWith(expected));
  }
}

// Names of clients and tools cannot break a line, whatever they contain.
TEST(AuditLog, NothingThatAClientSendsCanEndALine) {
  const std::string texts[] = {"a\n{\"sequence\":9}",
                               "\"}\n",
                               "\r\n",
                               std::string("\0x", 2),
                               "\x1b[2J",
                               "\xff\xfe broken \xc3",
                               "\xe2\x80\xa8",
                               "\x7f",
                               "\\\"",
                               "\u202eabc",
                               std::string(100'000, '\n'),
                               std::string(100'000, 'a')};
  AuditWorld world;
  world.open(with(config::AuditArguments::full));
  size_t expected = 1;
  for (const std::string& text : texts) {
    policy::Principal principal;
    principal.name = principal.issuer = text;
    AuditedCall call;
    call.client.principal = &principal;
    call.element = "resource";
    call.name = text;
    call.params = text;
    EXPECT_TRUE(world.call(text, Outcome::ok(), call));
    world.log->on_session_opened({"b", {}, call.client, text, {}});
    world.log->on_refused({call.client, text, text, 403, Refusal::bad_origin, 1});
    expected += 3;
  }
  world.settle();
  const auto lines = world.lines();
  EXPECT_EQ(lines.size(), expected);
  for (const std::string& line : lines) {
    EXPECT_TRUE(audit::read_line_head(line).has_value()) << line;
    EXPECT_TRUE(std::ranges::all_of(
        line, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }));
    EXPECT_LE(line.size(), audit::kMaxLine);
  }
  EXPECT_TRUE(world.verify().is_good) << world.verify().text;
}

TEST(AuditLog, RecordsWhatIsCoveredOrRefused) {
  config::AuditConfig config;
  config.calls = {"tools/*"};
  const struct {
    const char* method;
    Outcome outcome;
    bool is_recorded;
  } cases[] = {
      {"tools/call", Outcome::ok(), true},
      {"tools/call", Outcome::error(), true},
      {"ping", Outcome::ok(), false},
      {"ping", Outcome::error(), false},
      {"ping", Outcome::of(rpc::Fault::timeout), false},
      {"ping", Outcome::of(rpc::Fault::denied), true},
      {"ping", Outcome::of(rpc::Fault::insufficient_scope), true},
      {"ping", Outcome::of(rpc::Fault::rate_limited), true},
  };
  for (const auto& item : cases) {
    AuditWorld world;
    world.open(config);
    EXPECT_TRUE(world.call(item.method, item.outcome));
    world.settle();
    EXPECT_EQ(world.lines().size(), item.is_recorded ? 2U : 1U) << item.method;
  }
}

TEST(AuditLog, SaysWhatAReloadHasChanged) {
  AuditWorld world;
  world.open();
  const std::vector<std::string> changed = {"auth", "backends.a.rules"};
  const std::vector<std::string> left = {"limits"};
  const std::vector<std::string> many(audit::AuditLog::kMaxKeys, "k");
  world.log->on_reloaded({"signal", true, changed, left});
  world.log->on_reloaded({"watch"});
  world.log->on_reloaded({"watch", true, many});
  world.settle();
  const auto lines = world.lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[1],
              HasSubstr(R"("event":"reloaded","cause":"signal","outcome":"ok",)"
                        R"("changed":["auth","backends.a.rules"],"needs_restart":["limits"]})"));
  EXPECT_THAT(lines[2], HasSubstr(R"("event":"reloaded","cause":"watch","outcome":"failed"})"));
  EXPECT_THAT(lines[3], HasSubstr(R"("k","k"]})"));
  EXPECT_LT(lines[3].size(), audit::AuditLog::kMaxKeys + 512);
  EXPECT_TRUE(world.verify().is_good);
}

TEST(AuditLog, RefusalsAreLimitedAndTheRestIsCounted) {
  AuditWorld world;
  world.open();
  const size_t count = audit::AuditLog::kMaxRefusalsPerSecond + 5;
  for (size_t i = 0; i < count; ++i) {
    world.log->on_refused({{}, "POST", "/rpc", 401, Refusal::unauthorized, i});
  }
  world.settle();
  EXPECT_EQ(world.lines().size(), 1 + audit::AuditLog::kMaxRefusalsPerSecond);
  EXPECT_THAT(world.lines().back(), HasSubstr(R"("event":"login_failed")"));
  world.advance(std::chrono::seconds(1));
  world.settle();
  EXPECT_THAT(world.lines().back(), HasSubstr(R"("event":"refusals_left_out","count":5})"));
  EXPECT_TRUE(world.verify().is_good);
}

// The limit covers audited methods too, because a refused call has had no effect.
TEST(AuditLog, CallsThatAreRefusedAreLimited) {
  for (const rpc::Fault fault :
       {rpc::Fault::denied, rpc::Fault::insufficient_scope, rpc::Fault::rate_limited}) {
    AuditWorld world;
    world.open();
    for (size_t i = 0; i < audit::AuditLog::kMaxRefusalsPerSecond + 5; ++i) {
      EXPECT_TRUE(world.call("tools/call", Outcome::of(fault)));
    }
    EXPECT_TRUE(world.call("tools/call", Outcome::ok()));
    world.settle();
    EXPECT_EQ(world.lines().size(), 2 + audit::AuditLog::kMaxRefusalsPerSecond);
    world.advance(std::chrono::seconds(1));
    world.settle();
    EXPECT_THAT(world.lines().back(), HasSubstr(R"("event":"refusals_left_out","count":5})"));
  }
}

// Refused handshakes and refused requests share one limit.
TEST(AuditLog, HandshakesThatAreRefusedAreFailedLogins) {
  AuditWorld world;
  world.open();
  const std::string detail(2 * audit::AuditLog::kMaxName, '"');
  for (size_t i = 0; i <= audit::AuditLog::kMaxRefusalsPerSecond; ++i) {
    world.log->on_handshake_refused(
        {{}, "127.0.0.1:8443", HandshakeFailure::bad_client_certificate, detail});
  }
  world.log->on_refused({{}, "POST", "/rpc", 401, Refusal::unauthorized, 1});
  world.settle();
  ASSERT_EQ(world.lines().size(), 1 + audit::AuditLog::kMaxRefusalsPerSecond);
  EXPECT_THAT(world.lines().back(),
              HasSubstr(R"("event":"login_failed","listener":"127.0.0.1:8443",)"
                        R"("reason":"bad_client_certificate","detail":"\"\")"));
  world.advance(std::chrono::seconds(1));
  world.settle();
  EXPECT_THAT(world.lines().back(), HasSubstr(R"("event":"refusals_left_out","count":2})"));
  EXPECT_TRUE(world.verify().is_good);
}

TEST(AuditLog, GoesOnAfterARestart) {
  AuditWorld world;
  world.open();
  world.call("m");
  world.close();
  EXPECT_THAT(world.lines().back(), HasSubstr(R"("event":"stopped")"));
  world.open();
  world.settle();
  EXPECT_THAT(world.lines().back(),
              AllOf(StartsWith(R"({"sequence":4,)"), HasSubstr(R"("event":"started")")));
  const auto report = world.verify();
  EXPECT_TRUE(report.is_good) << report.text;
  EXPECT_THAT(report.text, HasSubstr("ok: 4 lines, the last is number 4"));
}

// The state after kill -9: the last line is cut, here at every byte.
TEST(AuditLog, GoesOnBehindATornLine) {
  AuditWorld before;
  before.open();
  before.call("m");
  before.close();
  const std::string whole = before.text();
  const size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (size_t size = last + 1; size < whole.size(); ++size) {
    AuditWorld world;
    world.folder.write("audit.jsonl", whole.substr(0, size));
    world.open();
    world.settle();
    const auto report = world.verify();
    EXPECT_TRUE(report.is_good) << size << "\n" << report.text;
    EXPECT_THAT(report.text, HasSubstr(":3: torn: " + std::to_string(size - last) + " bytes"));
    EXPECT_NE(world.gateway_log.find("audit ended within a line"), nullptr);
    world.close();
  }
}

TEST(AuditLog, GoesOnBehindATornFirstLine) {
  for (const char* torn : {"{", "{\"sequence\":1,\"prev", "{\"sequence\":1,\"prev\n"}) {
    AuditWorld world;
    world.folder.write("audit.jsonl", torn);
    world.open();
    world.settle();
    EXPECT_TRUE(world.verify().is_good) << world.verify().text;
    EXPECT_THAT(world.lines().back(), StartsWith(R"({"sequence":1,)"));
  }
}

TEST(AuditLog, ANewFileBeginsWithTheDigestOfTheOldOnesLastLine) {
  AuditWorld world;
  world.open();
  world.call("m");
  world.log->reopen();  // the file was not moved
  EXPECT_EQ(world.lines().size(), 2U);
  std::filesystem::rename(world.path(), world.path("audit.1"));
  world.call("n");
  world.log->reopen();
  world.call("o");
  world.settle();
  EXPECT_EQ(world.lines("audit.1").size(), 3U);
  ASSERT_EQ(world.lines().size(), 2U);
  audit::Hasher hasher;
  const audit::DigestText digest = hasher.of(world.lines("audit.1").back());
  EXPECT_THAT(world.lines()[0], HasSubstr(audit::view_of(digest)));
  EXPECT_THAT(world.lines()[0], HasSubstr(R"("event":"continued")"));
  const auto both = audit::verify_files({world.path("audit.1"), world.path()});
  EXPECT_TRUE(both.is_good) << both.text;
  EXPECT_FALSE(audit::verify_files({world.path(), world.path("audit.1")}).is_good);
  const auto second = world.verify();
  EXPECT_TRUE(second.is_good);
  EXPECT_THAT(second.text, HasSubstr("continues an earlier file, of 3 lines"));
}

TEST(AuditLog, StaysInTheOldFileIfTheNewOneCannotBeOpened) {
  AuditWorld world;
  world.open();
  world.settle();
  std::filesystem::rename(world.path(), world.path("audit.1"));
  std::filesystem::create_directory(world.path());
  world.log->reopen();
  world.call("m");
  world.settle();
  EXPECT_NE(world.gateway_log.find("audit cannot be reopened"), nullptr);
  EXPECT_EQ(world.lines("audit.1").size(), 2U);
}

// --- A full disk ---------------------------------------------------------------------------------

TEST(AuditLog, AFullDiskIsSaidOnceAndGotOver) {
  AuditWorld world;
  world.open();
  world.settle();
  const size_t size = world.text().size();
  {
    const FileSizeLimit limit(size + 10);  // in the middle of a line
    EXPECT_TRUE(world.call("one"));
    world.settle();
    EXPECT_FALSE(world.log->can_record());
    EXPECT_TRUE(world.log->counts().is_failing);
    world.advance(std::chrono::seconds(1));
    EXPECT_TRUE(world.call("refused", Outcome::of(rpc::Fault::unrecorded)));
    EXPECT_FALSE(world.log->can_record());
    EXPECT_EQ(world.text().size(), size + 10);
  }
  world.advance(std::chrono::seconds(1));
  EXPECT_TRUE(world.log->can_record());
  world.settle();
  EXPECT_THAT(world.lines().back(),
              HasSubstr(R"("event":"written_again","refused_calls":1,"lost_lines":0})"));
  EXPECT_THAT(world.text(), HasSubstr(R"("method":"one")"));
  EXPECT_TRUE(world.verify().is_good) << world.verify().text;
  const auto& lines = world.gateway_log.lines;
  EXPECT_EQ(std::ranges::count_if(
                lines, [](const auto& line) { return line.starts_with("audit cannot be"); }),
            1);
  EXPECT_NE(world.gateway_log.find("audit is written again"), nullptr);
}

TEST(AuditLog, WhatIsNotDurableIsNotAnswered) {
  config::AuditConfig config;
  config.durable = true;
  config.calls = {"tools/*"};
  AuditWorld world;
  world.open(config);
  EXPECT_TRUE(world.call("tools/call"));
  EXPECT_EQ(world.lines().size(), 2U);  // at once
  {
    const FileSizeLimit limit(world.text().size() + 10);
    EXPECT_FALSE(world.call("tools/call"));
    EXPECT_FALSE(world.log->can_record());
    EXPECT_FALSE(world.call("tools/call"));  // the call was under way
    EXPECT_TRUE(world.call("ping"));
  }
  world.advance(std::chrono::seconds(1));
  EXPECT_TRUE(world.call("tools/call"));
  EXPECT_TRUE(world.verify().is_good) << world.verify().text;
}

TEST(AuditLog, KeepsNoMoreThanItsLimit) {
  AuditWorld world;
  world.open();
  world.settle();
  {
    const FileSizeLimit limit(world.text().size());
    AuditedCall call;
    const std::string name(1000, 'y');
    call.element = "resource";
    call.name = name;
    bool was_lost = false;
    for (size_t i = 0; i < 20'000 && !was_lost; ++i) {
      was_lost = !world.call(std::string(200, 'm'), Outcome::ok(), call);
    }
    EXPECT_TRUE(was_lost);
    EXPECT_EQ(world.log->counts().lost, 1U);
  }
  world.advance(std::chrono::seconds(1));
  world.settle();
  EXPECT_THAT(world.lines().back(), HasSubstr(R"("lost_lines":1})"));
  EXPECT_TRUE(world.verify().is_good);
}

}  // namespace
}  // namespace stdgate
