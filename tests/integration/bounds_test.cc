// Limits on the memory and the children that one client, or many similar clients, can make the
// gateway use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/harness/processes.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::bounds_test {
namespace {

using testing::HasSubstr;

constexpr size_t kMiB = 1 << 20;
constexpr const char* kSharedChild = "isolation: shared, pool: { min: 1, max: 1 }";
// Memory that the gateway may need in addition: a message on its way, and pooled storage.
constexpr size_t kSpare = 64 * kMiB;

double mebibytes(size_t bytes) { return static_cast<double>(bytes) / kMiB; }

size_t virtual_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  size_t pages = 0;
  file >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void limit_address_space(pid_t pid, size_t more) {
  if (kSanitized) return;
  const rlimit limit = {virtual_bytes(pid) + more, RLIM_INFINITY};
  ASSERT_EQ(prlimit(pid, RLIMIT_AS, &limit, nullptr), 0);
}

// A request whose head is sent, but not its body.
std::string head_of(size_t announced) {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(announced) + "\r\n\r\n";
}

TEST(Bounds, AnswersThatNobodyTakesAreBoundedTogetherAndFreed) {
  GatewayProcess gateway(serve_one(puppet(), kSharedChild,
                                   "limits: { buffered: 256MiB, buffered_per_client: 64MiB }"));
  HttpClient healthy = gateway.connect();
  ASSERT_EQ(call(healthy, "blob", R"({"size":15000000})").status, 200);
  const size_t before = resident_bytes(gateway.pid());
  {
    std::vector<HttpClient> clients;
    for (int i = 0; i < 30; ++i) {
      clients.push_back(gateway.connect());
      clients.back().send_request("POST", "/rpc", request("blob", R"({"size":15000000})"),
                                  {{"content-type", "application/json"}});
      // A client that reads its answers is served all the time.
      if (i % 5 == 0) {
        ASSERT_EQ(call(healthy, "blob", R"({"size":1000000})").status, 200);
      }
    }
    EXPECT_TRUE(eventually("all have been asked", [&] {
      return gateway.metrics().sum("stdgate_request_duration_seconds_count") >= 37;
    }));
    EXPECT_THAT(gateway.log(), HasSubstr("limits.buffered_per_client is used up"));
    const size_t peak = peak_resident_bytes(gateway.pid());
    std::printf("resident: %.1f MiB before, %.1f MiB at its peak\n", mebibytes(before),
                mebibytes(peak));
    if (!kSanitized) {
      EXPECT_LT(peak, before + 64 * kMiB + kSpare);
    }
  }
  EXPECT_TRUE(kSanitized || eventually("what is free is given back", [&] {
                return resident_bytes(gateway.pid()) < before + 8 * kMiB;
              }));
  std::printf("resident: %.1f MiB afterwards\n", mebibytes(resident_bytes(gateway.pid())));
}

TEST(Bounds, ALengthThatIsOnlyAnnouncedCostsNothing) {
  GatewayProcess gateway(serve_one(puppet(), kSharedChild));
  HttpClient healthy = gateway.connect();
  ASSERT_EQ(call(healthy, "blob", R"({"size":1})").status, 200);
  limit_address_space(gateway.pid(), 200 * kMiB);
  std::vector<HttpClient> clients;
  std::vector<WebSocketClient> sockets;
  for (int i = 0; i < 60; ++i) {
    clients.push_back(gateway.connect());
    clients.back().send(head_of(16'000'000) + "[");
    sockets.emplace_back(gateway.url());
    // A masked text frame that announces 16,000,000 bytes, with the first byte of its payload.
    sockets.back().send_bytes(std::string("\x81\xff\0\0\0\0\0\xf4\x24\0\0\0\0\0[", 15));
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(call(healthy, "blob", R"({"size":100000})").status, 200);
  }
  EXPECT_FALSE(gateway.wait_for_exit(Millis(10)));
}

TEST(Bounds, ALargeMessageStillComesThrough) {
  GatewayProcess gateway(serve_one(puppet(), kSharedChild));
  HttpClient client = gateway.connect();
  std::string fill;
  fill.resize(15'000'000, 'x');
  EXPECT_EQ(call(client, "blob", R"({"size":3,"fill":")" + fill + "\"}").body,
            result("1", "\"xxx\""));
}

TEST(Bounds, ABodyThatDripsIsGivenUp) {
  GatewayProcess gateway(serve_one(puppet(), kSharedChild, "timeouts: { body: 500ms }"));
  HttpClient client = gateway.connect();
  client.send(head_of(10'000'000));
  std::atomic<bool> done = false;
  std::thread drip([&done, socket = client.socket()] {
    while (!done && ::send(socket, " ", 1, MSG_NOSIGNAL) == 1) {
      std::this_thread::sleep_for(Millis(10));
    }
  });
  HttpResponse answer;
  try {
    answer = client.read_response();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  done = true;
  drip.join();
  EXPECT_EQ(answer.status, 408);
}

std::string initialize_request() {
  return request("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":)"
                               R"({"name":"t","version":"1"}})");
}

TEST(Bounds, AClientStartsSoManyChildrenAndNotMore) {
  GatewayProcess gateway(serve_one(puppet("mcp"),
                                   "protocol: mcp, isolation: session, "
                                   "pool: { max: 64, remember: false }",
                                   "limits: { session_starts: 1, session_burst: 5 }"));
  const std::string initialize = initialize_request();
  const Headers accept = {{"accept", "application/json, text/event-stream"}};
  size_t opened = 0;
  HttpResponse refused;
  for (int i = 0; i < 20; ++i) {
    HttpClient client = gateway.connect();
    const HttpResponse answer = client.post("/mcp", initialize, accept);
    if (answer.status != 200) {
      refused = answer;
      continue;
    }
    ++opened;
    client.send_request("DELETE", "/mcp", "",
                        {{"mcp-session-id", answer.header("mcp-session-id")}});
    EXPECT_EQ(client.read_response().status, 204);
  }
  EXPECT_GE(opened, 5U);
  EXPECT_LT(opened, 15U);  // holds if the loop takes less than ten seconds
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(JsonValue(refused.body).number("/error/code"), -31429);
  EXPECT_LE(gateway.metrics().sum("stdgate_child_starts_total"), static_cast<double>(opened));
  // A client on a connection of its own is given a child with its first message.
  WebSocketClient socket(gateway.url());
  socket.send(initialize);
  EXPECT_EQ(JsonValue(socket.message()).number("/error/code"), -31429);
}

// A session whose handshake is answered from memory has no child before its first call.
TEST(Bounds, AClientWakesSoManyChildrenAndNotMore) {
  GatewayProcess gateway(serve_one(puppet("mcp"),
                                   "protocol: mcp, isolation: session, pool: { max: 64 }",
                                   "limits: { session_starts: 1, session_burst: 5 }"));
  size_t refused = 0;
  for (int i = 0; i < 20; ++i) {
    HttpClient client = gateway.connect();
    const HttpResponse opened = client.post("/mcp", initialize_request(),
                                            {{"accept", "application/json, text/event-stream"}});
    if (opened.status == 429) {  // with a child running, another starts at once
      ++refused;
      continue;
    }
    const HttpResponse answer = client.post(
        "/mcp", request("echo", "{}"),
        {{"accept", "application/json"}, {"mcp-session-id", opened.header("mcp-session-id")}});
    if (answer.body.find("-31429") != std::string::npos) ++refused;
  }
  EXPECT_GT(refused, 5U);  // holds if the loop takes less than ten seconds
  EXPECT_LE(gateway.metrics().sum("stdgate_child_starts_total"),
            20.0 - static_cast<double>(refused));
}

TEST(Bounds, AnAddressHasSoManyConnections) {
  GatewayProcess gateway(serve_one(
      puppet(), kSharedChild, "limits: { connections_per_address: 3, unlimited_addresses: [] }"));
  std::vector<HttpClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(gateway.connect());
    EXPECT_EQ(call(clients.back(), "blob", R"({"size":1})").status, 200);
  }
  HttpClient refused = gateway.connect();
  EXPECT_EQ(refused.read_response().status, 429);
  clients.pop_back();
  EXPECT_TRUE(eventually("there is room again", [&] {
    HttpClient next = gateway.connect();
    return call(next, "blob", R"({"size":1})").status == 200;
  }));
}

TEST(Bounds, ABroadcastIsHeldOnceHoweverManyDoNotTakeIt) {
  GatewayProcess gateway(
      serve_one(puppet(), kSharedChild, "limits: { outbox: 64MiB, buffered: 1GiB }"));
  constexpr size_t kClients = 60;
  constexpr size_t kSize = 900'000;
  constexpr int kPushes = 12;
  std::vector<WebSocketClient> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.emplace_back(gateway.url(), WebSocketClient::Options{.receive_buffer = 128 << 10,
                                                                 .deadline = Millis(30'000)});
  }
  const size_t before = resident_bytes(gateway.pid());
  clients[0].send(request("push", R"({"count":12,"size":900000})"));
  for (int n = 0; n < kPushes; ++n) {
    EXPECT_EQ(JsonValue(clients[0].message()).number("/params/n"), n);
  }
  EXPECT_EQ(clients[0].message(), result("1", "12"));
  const size_t peak = peak_resident_bytes(gateway.pid());
  std::printf("resident: %.1f MiB before, %.1f MiB at its peak\n", mebibytes(before),
              mebibytes(peak));
  // A copy for each client would take 600 MiB, less the bytes in socket buffers.
  if (!kSanitized) {
    EXPECT_LT(peak, before + kPushes * kSize + kSpare);
  }
  // The other clients have lost no message.
  for (size_t i = 1; i < kClients; i += 20) {
    for (int n = 0; n < kPushes; ++n) {
      const JsonValue push(clients[i].message());
      ASSERT_EQ(push.number("/params/n"), n);
    }
  }
}

TEST(Bounds, BytesAreCountedWhileAStreamRuns) {
  GatewayProcess gateway(serve_one(puppet(), kSharedChild));
  WebSocketClient listener(gateway.url());
  const auto out = [&](const char* transport) {
    return gateway.metrics().sum("stdgate_bytes_total",
                                 {{"transport", transport}, {"direction", "out"}});
  };
  WebSocketClient other(gateway.url());
  const double before = out("websocket");
  other.send(request("push", R"({"count":1,"size":100000})"));
  EXPECT_THAT(listener.message(), HasSubstr("push"));
  // Both clients have received the message. Neither has sent anything since, and no timer of their
  // connections has been due.
  EXPECT_TRUE(eventually(
      "it is counted", [&] { return out("websocket") >= before + 200'000; }, Millis(5000)));
}

}  // namespace
}  // namespace stdgate::harness::bounds_test
