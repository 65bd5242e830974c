// How much memory attackers can make the gateway hold. Each attack meets a gateway with little
// memory. Meanwhile other clients are served, and the gateway's memory stays within its limit. When
// the attackers have left, the gateway keeps nothing of them.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/processes.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::memory_test {

namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kMiB = 1 << 20;
// Memory of the gateway that it does not count: the program itself, incoming messages of children,
// pooled storage, and what the allocator cannot return.
constexpr size_t kSlack = 32 * kMiB;

// limits.memory, with the default that limits.buffered would have. The address sanitizer keeps
// freed memory, so the memory of the process would run short.
std::string memory_of(int mebibytes) {
  if (!kSanitized) return "memory: " + std::to_string(mebibytes) + "MiB";
  return "memory: 2GiB, buffered: " + std::to_string(mebibytes / 2) + "MiB";
}

double in_mebibytes(size_t bytes) { return static_cast<double>(bytes) / kMiB; }

// A connection from another address of the loopback network.
HttpClient connect_from(const std::string& source, const std::string& url) {
  const std::string_view port = std::string_view(url).substr(url.rfind(':') + 1);
  uint16_t number = 0;
  std::from_chars(port.data(), port.data() + port.size(), number);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in from = {};
  from.sin_family = AF_INET;
  ::inet_pton(AF_INET, source.c_str(), &from.sin_addr);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(number);
  ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0 ||
      ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    ::close(socket);
    throw std::runtime_error("cannot connect from " + source);
  }
  return HttpClient(socket);
}

// A gateway under attack. Attackers use "main", a shared puppet. "other" is another backend.
class MemoryAttack : public testing::Test {
 protected:
  void start(const std::string& limits, const Command& command, const std::string& options) {
    allow_many_files();
    gateway_.emplace(serve({backend("main", command, options),
                            backend("other", puppet(), "isolation: shared, pool: { min: 1 }")},
                           "limits: { " + limits + " }\n"));
    served("/other/rpc");
    before_ = resident_bytes(gateway_->pid());
  }

  // Checks that a client of another address is served: a call, and a body that has to be buffered.
  void served(const std::string& path) {
    HttpClient client = connect_from("127.0.0.200", gateway_->url());
    const std::string small = request("blob", R"({"size":10})");
    EXPECT_EQ(client.post(path, small).status, 200) << path;
    const std::string fill(200'000, 'x');
    HttpClient next = connect_from("127.0.0.200", gateway_->url());
    const HttpResponse response =
        next.post(path, request("blob", R"({"size":200000,"fill":")" + fill + "\"}"));
    EXPECT_EQ(response.status, 200) << path << response.body.substr(0, 200);
  }

  [[nodiscard]] double held(const std::string& kind) const {
    return gateway_->metrics().sum("stdgate_held_bytes", {{"kind", kind}});
  }
  [[nodiscard]] double held() const { return gateway_->metrics().sum("stdgate_held_bytes"); }

  void expect_within(size_t limit) {
    const size_t peak = peak_resident_bytes(gateway_->pid());
    std::printf("resident: %.1f MiB before, %.1f MiB at the peak, limit %.0f MiB; held %.1f MiB\n",
                in_mebibytes(before_), in_mebibytes(peak), in_mebibytes(limit),
                held() / static_cast<double>(kMiB));
    if (kSanitized) return;
    EXPECT_LT(peak, limit + kSlack);
  }

  // To be called when the attackers have left.
  void expect_as_before() {
    eventually("nothing is kept for anybody",
               [&] { return held("receiving") + held("unsent") + held("calls") == 0; });
    eventually("they are served again", [&] {
      HttpClient client = gateway_->connect();
      return client.post("/other/rpc", request("blob", R"({"size":1})")).status == 200;
    });
    if (!kSanitized) {
      eventually("memory has been given back",
                 [&] { return resident_bytes(gateway_->pid()) < before_ + kSlack; });
    }
    std::printf("resident: %.1f MiB afterwards\n", in_mebibytes(resident_bytes(gateway_->pid())));
    served("/other/rpc");
  }

  std::optional<GatewayProcess> gateway_;
  size_t before_ = 0;
};

const char* const kShared = "isolation: shared, pool: { min: 1, max: 1 }";
const char* const kSharedMcp = "protocol: mcp, isolation: shared, pool: { min: 1, max: 1 }";

// Thousands of listening requests over one WebSocket.
TEST_F(MemoryAttack, RequestsThatListen) {
  start(memory_of(256), puppet("mcp"), kSharedMcp);
  {
    WebSocketClient attacker(gateway_->url(), {.path = "/main/ws", .deadline = Millis(30'000)});
    const std::string fill(50'000, 'x');
    size_t sent = 0;
    size_t refused = 0;
    std::optional<std::string> last;
    try {
      for (; sent < 4500; ++sent) {
        const std::string id = std::to_string(sent + 1);
        attacker.send(modern_request(
            "subscriptions/listen",
            R"("notifications":{"toolsListChanged":true},"fill":")" + fill + "\"", id));
        last = attacker.read_message();
        if (!last) break;
        if (last->find("limits.buffered_per_client") != std::string::npos) ++refused;
        if (refused > 10) break;
      }
    } catch (const std::runtime_error&) {
      last.reset();  // closed in the middle of a message
    }
    const bool was_told = refused > 0 || (attacker.closing() && attacker.closing()->code == 1013);
    EXPECT_TRUE(was_told) << sent;
    EXPECT_LT(sent, 1000U);
    served("/other/rpc");
    expect_within(256 * kMiB);
  }
  expect_as_before();
}

// Idle sessions of one client, each with kept events that the client could ask for.
TEST_F(MemoryAttack, EventsOfParkedSessions) {
  start(memory_of(128) + ", session_burst: 1000", puppet("mcp"),
        "protocol: mcp, isolation: session, pool: { max: 2, sessions: 1000, min_hold: 200ms }");
  const Headers accept = {{"accept", "application/json, text/event-stream"}};
  for (int i = 0; i < 60; ++i) {
    HttpClient client = gateway_->connect();
    const HttpResponse opened =
        client.post("/main/mcp", request("initialize", initialize_params()), accept);
    ASSERT_EQ(opened.status, 200) << i << " " << opened.body;
    Headers headers = accept;
    headers["mcp-session-id"] = opened.header("mcp-session-id");
    ASSERT_EQ(
        client.post("/main/mcp", request("notifications/initialized", "", ""), headers).status,
        202);
    const HttpResponse pushed =
        client.post("/main/mcp", request("push", R"({"count":1,"size":900000})"), headers);
    ASSERT_EQ(pushed.status, 200) << i;
    ASSERT_THAT(pushed.body, HasSubstr("push"));
    if (i % 20 == 0) served("/other/rpc");
  }
  served("/other/rpc");
  expect_within(128 * kMiB);
  // The events are charged to the client, up to its limit. Beyond the limit, the sessions that have
  // been idle longest lose theirs.
  EXPECT_GT(held("replay"), 1 * kMiB);
  EXPECT_LT(held("replay"), 33 * kMiB);
  EXPECT_THAT(gateway_->log(), HasSubstr("memory of sessions is given up"));
  HttpClient client = gateway_->connect();
  EXPECT_EQ(client.post("/main/mcp", request("initialize", initialize_params()), accept).status,
            200);
}

// Bodies that are sent for the most part, but not to their end.
TEST_F(MemoryAttack, UnfinishedBodies) {
  start(memory_of(300), puppet(), kShared);
  {
    std::vector<HttpClient> attackers;
    const std::string part(3'000'000, ' ');
    size_t refused = 0;
    for (int i = 0; i < 400; ++i) {
      attackers.push_back(gateway_->connect());
      try {
        attackers.back().send(
            "POST /main/rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: 3000001\r\n\r\n" +
            part);
      } catch (const std::runtime_error&) {
        ++refused;  // answered, and closed in the middle
      }
      if (i % 50 == 0) served("/main/rpc");
    }
    served("/main/rpc");
    served("/other/rpc");
    expect_within(300 * kMiB);
    EXPECT_LT(held("receiving"), 38 * kMiB);  // of a single client
    HttpClient told = gateway_->connect();
    try {
      EXPECT_THAT(told.post("/main/rpc", request("blob", "{\"fill\":\"" + part + "\"}")).body,
                  HasSubstr("limits.buffered_per_client"));
    } catch (const std::runtime_error&) {
      // The answer was lost with the connection, which is fine too.
    }
  }
  expect_as_before();
}

// Unfinished bodies from many addresses. A single address uses little memory.
TEST_F(MemoryAttack, UnfinishedBodiesOfManyClients) {
  start(memory_of(200), puppet(), kShared);
  {
    std::vector<HttpClient> attackers;
    const std::string part(2'000'000, ' ');
    for (int i = 0; i < 300; ++i) {
      attackers.push_back(connect_from("127.0.0." + std::to_string(2 + i % 60), gateway_->url()));
      try {
        attackers.back().send(
            "POST /main/rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: 2000001\r\n\r\n" +
            part);
      } catch (const std::runtime_error&) {
      }
      if (i % 50 == 0) served("/other/rpc");
    }
    served("/main/rpc");
    served("/other/rpc");
    expect_within(200 * kMiB);
    EXPECT_LE(held("receiving"), 104 * kMiB);
  }
  expect_as_before();
}

// Clients that request large answers and do not read them.
TEST_F(MemoryAttack, LargeAnswersThatNobodyTakes) {
  start(memory_of(256), puppet(), kShared);
  {
    std::vector<HttpClient> attackers;
    for (int i = 0; i < 40; ++i) {
      attackers.push_back(gateway_->connect());
      attackers.back().send_request("POST", "/main/rpc", request("blob", R"({"size":12000000})"),
                                    {{"content-type", "application/json"}});
      if (i % 8 == 0) served("/main/rpc");
    }
    served("/main/rpc");
    served("/other/rpc");
    expect_within(256 * kMiB);
    EXPECT_THAT(gateway_->log(), HasSubstr("limits.buffered_per_client is used up"));
  }
  expect_as_before();
}

// Messages of WebSockets whose last fragment is never sent.
TEST_F(MemoryAttack, HalfSentMessages) {
  start(memory_of(128), puppet(), kShared);
  {
    std::vector<WebSocketClient> attackers;
    const std::string part(1'000'000, ' ');
    for (int i = 0; i < 60; ++i) {
      try {
        attackers.emplace_back(gateway_->url(), WebSocketClient::Options{.path = "/main/ws"});
        attackers.back().send_frame({.opcode = Frame::kText, .payload = part, .final = false});
        attackers.back().send_frame(
            {.opcode = Frame::kContinuation, .payload = part, .final = false});
      } catch (const std::runtime_error&) {
      }
      if (i % 20 == 0) served("/other/rpc");
    }
    served("/main/rpc");
    expect_within(128 * kMiB);
    EXPECT_LE(held("receiving"), 34 * kMiB);
  }
  expect_as_before();
}

// Batches whose answers are collected, because one call of each is never answered.
TEST_F(MemoryAttack, BatchesThatAreNeverComplete) {
  start(memory_of(256), puppet(), kShared);
  {
    std::vector<HttpClient> attackers;
    for (int i = 0; i < 40; ++i) {
      attackers.push_back(gateway_->connect());
      attackers.back().send_request(
          "POST", "/main/rpc",
          "[" + request("hang") + "," + request("blob", R"({"size":8000000})", "2") + "]",
          {{"content-type", "application/json"}});
      if (i % 8 == 0) served("/main/rpc");
    }
    served("/main/rpc");
    served("/other/rpc");
    expect_within(256 * kMiB);
    EXPECT_LE(held("unsent"), 48 * kMiB);
    HttpClient told = gateway_->connect();
    EXPECT_THAT(told.post("/main/rpc", "[" + request("blob", R"({"size":10})", "2") + "]").body,
                AllOf(HasSubstr("-32005"), HasSubstr("limits.buffered")));
  }
  expect_as_before();
}

// Behind a proxy that is not trusted, the gateway sees all clients as one. The configuration may
// allow this one client all memory.
TEST_F(MemoryAttack, OneClientMayHaveAll) {
  start(std::string(kSanitized ? "memory: 2GiB" : "memory: 256MiB") +
            ", buffered: 120MiB, buffered_per_client: 120MiB",
        puppet(), kShared);
  std::vector<HttpClient> clients;
  const std::string part(2'000'000, ' ');
  for (int i = 0; i < 50; ++i) {
    clients.push_back(gateway_->connect());
    clients.back().send(
        "POST /main/rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 2000001\r\n\r\n" +
        part);
  }
  eventually("they are held", [&] { return held("receiving") >= 100e6; });
  served("/other/rpc");
}

}  // namespace

// Overload of the real program: its limit is below the memory that it uses at the start.

namespace {

using testing::HasSubstr;
using testing::SizeIs;

size_t resident_bytes(const GatewayProcess& gateway) {
  return static_cast<size_t>(gateway.metrics().sum("process_resident_memory_bytes"));
}

TEST(Overload, ShortOfMemoryItRefusesCallsAndNothingElse) {
  GatewayProcess gateway(serve_one(demo_server(), "", "limits: { memory: 8MiB }\n"));
  ASSERT_GT(resident_bytes(gateway), 8U << 20) << "the gateway needs more than that";
  eventually("memory is short", [&] { return !log_of(gateway, "memory is short").empty(); });
  HttpClient client = gateway.connect();
  const HttpResponse refused = call(client, "echo", "[1]");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(refused.header("connection"), "close");
  EXPECT_THAT(refused.body, HasSubstr("short of memory"));
  HttpClient admin(gateway.admin_url());
  for (const char* path : {"/healthz", "/metrics", "/debug/state", "/readyz"}) {
    const HttpResponse response = admin.get(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_NE(response.header("connection"), "close") << path;
  }
  EXPECT_GT(gateway.metrics().sum("stdgate_memory_pressure"), 1);
  EXPECT_THAT(log_of(gateway, "memory is short"), SizeIs(1));
}

TEST(Overload, WithMemoryConnectionsStay) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "echo", "[1]");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.header("connection"), "close");
  eventually("memory is read",
             [&] { return gateway.metrics().sum("stdgate_memory_pressure") > 0; });
  EXPECT_LT(gateway.metrics().sum("stdgate_memory_pressure"), 0.5);
}

TEST(CheckAs, SaysWhatSomebodyMayDo) {
  const TemporaryFolder folder;
  folder.write("gateway.yaml",
               "backends: { files: { command: [x], rules: [{ allow: [reader], tools: [\"read_*\"] "
               "}, { allow: [\"*\"], methods: [ping] }] } }\n");
  const ProgramRun run = run_stdgate(folder, {"check", "--as", "ann,reader"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "ann, roles reader\nfiles:\n  tools read_*\n  methods ping\n");
  const ProgramRun json =
      run_stdgate(folder, {"check", "--as", "anonymous", "--backend", "files", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_TRUE(JsonValue(json.out).has("/backends/files/rules/0/methods"));
  EXPECT_EQ(run_stdgate(folder, {"check", "--as", "x", "--backend", "y"}).exit_code, 2);
  EXPECT_EQ(run_stdgate(folder, {"check", "--json"}).exit_code, 2);
}

}  // namespace

}  // namespace stdgate::harness::memory_test
