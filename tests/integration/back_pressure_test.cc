// Clients and children that do not read: the gateway's memory stays bounded, nothing is lost that
// must arrive, and other clients notice nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/harness/processes.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::back_pressure_test {
namespace {

using testing::AnyOf;

constexpr size_t kMiB = 1 << 20;
constexpr size_t kOutbox = kMiB;  // limits.outbox
constexpr const char* kRoot = "limits: { outbox: 1MiB, message: 1MiB }\nlog: { level: error }";
constexpr const char* kSharedChild = "isolation: shared, pool: { min: 1, max: 1 }";
// Memory that the gateway may need in addition: one message of each client, and buffers that are
// kept for reuse.
constexpr size_t kSpare = 8 * kMiB;
constexpr int kTooSlow = 1013;

// The receive buffer is not smaller than a segment of the loopback interface. Otherwise reading
// would take far too long.
WebSocketClient slow_reader(const GatewayProcess& gateway) {
  return WebSocketClient(gateway.url(), {.receive_buffer = 128 << 10, .deadline = Millis(30'000)});
}

// Prints how the gateway's memory has grown since the constructor, and fails the test if it has
// grown too much.
class MemoryWatch {
 public:
  explicit MemoryWatch(const GatewayProcess& gateway)
      : pid_(gateway.pid()), before_(resident_bytes(pid_)) {}
  void expect_growth_below(size_t limit) const {
    const size_t peak = peak_resident_bytes(pid_);
    std::printf("resident: %.1f MiB before, %.1f MiB at its peak\n", mebibytes(before_),
                mebibytes(peak));
    ASSERT_GT(before_, 0U);
    // The address sanitizer keeps freed memory, so its figures are printed but not checked.
    if (!kSanitized) {
      EXPECT_LT(peak, before_ + limit);
    }
  }

 private:
  static double mebibytes(size_t bytes) { return static_cast<double>(bytes) / kMiB; }
  const pid_t pid_;
  const size_t before_;
};

// The value, when it has not changed for a while. A value that is returned too early makes the test
// weaker, but never makes it fail.
double settled(const std::function<double()>& value) {
  double last = -1;
  for (double now = value(); now != last; now = value()) {
    last = now;
    std::this_thread::sleep_for(Millis(300));
  }
  return last;
}

double bytes_in(const GatewayProcess& gateway) {
  return gateway.metrics().sum("stdgate_bytes_total",
                               {{"transport", "websocket"}, {"direction", "in"}});
}

double outboxes_full(const GatewayProcess& gateway) {
  return gateway.metrics().sum("stdgate_messages_dropped_total", {{"reason", "outbox_full"}});
}

double websockets(const GatewayProcess& gateway) {
  return gateway.metrics().sum("stdgate_connections", {{"transport", "websocket"}});
}

int64_t number_of(const std::string& push) {
  return static_cast<int64_t>(JsonValue(push).number("/params/n"));
}

// --- Clients that do not read --------------------------------------------------------------------

TEST(SlowReader, ThatAsksALotIsClosedAndOthersGoOn) {
  GatewayProcess gateway(serve_one(puppet(), kSharedChild, kRoot));
  constexpr size_t kOthers = 4;
  std::array<std::atomic<size_t>, kOthers> answered = {};
  std::atomic<bool> done = false;
  auto others = std::async(std::launch::async, [&] {
    in_parallel(kOthers, [&](size_t i) {
      WebSocketClient client(gateway.url());
      const std::string expected = result("1", '"' + std::string(1000, 'x') + '"');
      for (; !done; ++answered[i]) {
        ASSERT_EQ(client.call("blob", R"({"size":1000})"), expected);
      }
    });
  });
  const auto await_progress = [&](const char* when) {
    for (auto& count : answered) {
      const size_t before = count;
      eventually(when, [&] { return count > before + 20; });
    }
  };
  await_progress("the others are served");
  const MemoryWatch memory(gateway);
  WebSocketClient slow = slow_reader(gateway);
  // Sent in one write, because the gateway may close the connection before a second write.
  std::string requests;
  const Frame ask{.opcode = Frame::kText, .payload = request("blob", R"({"size":100000})")};
  for (int i = 0; i < 600; ++i) requests += frame_bytes(ask);
  slow.send_bytes(requests);
  await_progress("they are while the slow one does not read");
  EXPECT_TRUE(eventually("it is given up", [&] { return outboxes_full(gateway) >= 1; }));
  EXPECT_TRUE(eventually("it is gone", [&] { return websockets(gateway) == kOthers; }));
  await_progress("the others go on");
  done = true;
  others.get();
  EXPECT_THAT(slow.read_closing().code, AnyOf(kTooSlow, Closing::kCutOff));
  EXPECT_LT(slow.messages(), 600U);
  memory.expect_growth_below(kOutbox + kSpare);
}

TEST(SlowReader, ThatIsPushedToIsClosedAndOthersGetAll) {
  GatewayProcess gateway(serve_one(puppet(), kSharedChild, kRoot));
  constexpr size_t kOthers = 3;
  WebSocketClient slow = slow_reader(gateway);
  std::vector<WebSocketClient> others;
  for (size_t i = 0; i < kOthers; ++i) others.emplace_back(gateway.url());
  for (WebSocketClient& client : others) client.call("cwd");
  const MemoryWatch memory(gateway);
  // Each round sends less than the outbox holds, so that these clients keep up even on a busy
  // machine.
  for (int round = 0; round < 60; ++round) {
    others[0].send(request("push", R"({"count":25,"size":20000})"));
    for (WebSocketClient& client : others) {
      for (int n = 0; n < 25; ++n) ASSERT_EQ(number_of(client.message()), n);
    }
    ASSERT_EQ(others[0].message(), result("1", "25"));
  }
  EXPECT_EQ(outboxes_full(gateway), 1);
  EXPECT_TRUE(eventually("it is gone", [&] { return websockets(gateway) == kOthers; }));
  EXPECT_THAT(slow.read_closing().code, AnyOf(kTooSlow, Closing::kCutOff));
  EXPECT_LT(slow.messages(), 60U * 25);
  memory.expect_growth_below((kOthers + 1) * kOutbox + kSpare);
}

TEST(SlowReader, ThatReadsInTimeIsToldWhyItIsClosed) {
  GatewayProcess gateway(serve_one(puppet(), kSharedChild, kRoot));
  WebSocketClient slow = slow_reader(gateway);
  for (int i = 0; i < 200; ++i) slow.send(request("blob", R"({"size":200000})"));
  EXPECT_TRUE(eventually("it is given up", [&] { return outboxes_full(gateway) == 1; }));
  const Closing closing = slow.read_closing();
  EXPECT_EQ(closing.code, kTooSlow);
  EXPECT_EQ(closing.reason, "the client reads too slowly");
}

TEST(SlowReader, HoldsUpItsOwnChildAndNothingIsLost) {
  GatewayProcess gateway(serve_one(puppet(), "isolation: session", kRoot));
  constexpr int kPushes = 1000;
  constexpr double kAll = 64.0 * kMiB;
  WebSocketClient other(gateway.url());
  WebSocketClient slow = slow_reader(gateway);
  const auto child = static_cast<pid_t>(JsonValue(slow.call("pid")).number("/result"));
  EXPECT_EQ(other.call("blob", R"({"size":1})"), result("1", "\"x\""));
  const MemoryWatch memory(gateway);
  slow.send(request("push", R"({"count":1000,"size":67109})"));
  const double written = settled([&] { return static_cast<double>(bytes_written_by(child)); });
  std::printf("the child was held after %.1f MiB\n", written / kMiB);
  EXPECT_LT(written, kAll * 3 / 4) << "what lies in sockets and pipes has its limit";
  EXPECT_EQ(other.call("blob", R"({"size":1})"), result("1", "\"x\""));
  for (int n = 0; n < kPushes; ++n) ASSERT_EQ(number_of(slow.message()), n);
  EXPECT_EQ(slow.message(), result("1", "1000"));
  EXPECT_GT(bytes_written_by(child), kAll);
  EXPECT_EQ(outboxes_full(gateway), 0);
  memory.expect_growth_below(kSpare);
}

// --- Children that do not read -------------------------------------------------------------------

TEST(SlowChild, HoldsUpItsClientOnlyAndNothingIsLost) {
  GatewayProcess gateway(
      serve_one(puppet(), "isolation: session, pool: { queue_bytes: 2MiB }", kRoot));
  constexpr int kCalls = 2000;
  WebSocketClient other(gateway.url());
  EXPECT_EQ(other.call("blob", R"({"size":1})"), result("1", "\"x\""));
  WebSocketClient client(gateway.url(), {.deadline = Millis(30'000)});
  const auto child = static_cast<pid_t>(JsonValue(client.call("pid")).number("/result"));
  EXPECT_EQ(client.call("doze"), result("1", "true"));
  const MemoryWatch memory(gateway);
  const std::string params = R"({"size":1,"fill":")" + std::string(16'000, 'x') + "\"}";
  std::atomic<int> sent = 0;
  auto sender = std::async(std::launch::async, [&] {
    for (; sent < kCalls; ++sent) client.send(request("blob", params, std::to_string(sent)));
  });
  EXPECT_TRUE(eventually("its messages wait", [&] {
    return state_of(gateway).number("/backends/0/queued_bytes") >= kMiB;
  }));
  const double taken = settled([&] { return bytes_in(gateway); });
  std::printf("the client was held after %.1f MiB\n", taken / kMiB);
  EXPECT_LT(taken, 8.0 * kMiB);
  EXPECT_LT(sent, kCalls);
  EXPECT_EQ(other.call("blob", R"({"size":1})"), result("1", "\"x\""));
  kill(child, SIGUSR1);
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_EQ(client.message(), result(std::to_string(i), "\"x\""));
  }
  sender.get();
  memory.expect_growth_below(2 * kSpare);
}

TEST(SlowChild, HoldsUpThoseWhoFeedItAndNothingIsLost) {
  GatewayProcess gateway(serve(
      {backend("main", puppet(),
               "default: true, isolation: shared, pool: { min: 1, max: 1, queue_bytes: 2MiB }"),
       backend("other", puppet(), kSharedChild)},
      kRoot));
  constexpr int kCalls = 1000;
  WebSocketClient other(gateway.url(), {.path = "/other/ws"});
  std::vector<WebSocketClient> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back(gateway.url(), WebSocketClient::Options{.deadline = Millis(30'000)});
  }
  const auto child = static_cast<pid_t>(JsonValue(clients[0].call("pid")).number("/result"));
  EXPECT_EQ(clients[0].call("doze"), result("1", "true"));
  const std::string params = R"({"size":1,"fill":")" + std::string(16'000, 'x') + "\"}";
  std::vector<std::future<void>> senders;
  for (WebSocketClient& client : clients) {
    senders.push_back(std::async(std::launch::async, [&] {
      for (int i = 0; i < kCalls; ++i) client.send(request("blob", params, std::to_string(i)));
    }));
  }
  EXPECT_TRUE(eventually("their messages wait", [&] {
    return state_of(gateway).number("/backends/0/queued_bytes") >= kMiB;
  }));
  EXPECT_EQ(other.call("blob", R"({"size":1})"), result("1", "\"x\""));
  kill(child, SIGUSR1);
  for (WebSocketClient& client : clients) {
    for (int i = 0; i < kCalls; ++i) {
      ASSERT_EQ(client.message(), result(std::to_string(i), "\"x\""));
    }
  }
  for (std::future<void>& sender : senders) sender.get();
}

// --- A queue that is half full -------------------------------------------------------------------

constexpr const char* kOneCallAtATime =
    "isolation: shared, pool: { min: 1, max: 1, max_in_flight: 1, queue: 4 }";

// Fills half of the queue, so that the gateway stops reading requests from WebSockets.
void fill_half(const GatewayProcess& gateway, WebSocketClient& client) {
  client.send(request("blob", R"({"size":1})", "2"));
  client.send(request("blob", R"({"size":1})", "3"));
  ASSERT_TRUE(
      eventually("they wait", [&] { return state_of(gateway).number("/backends/0/queued") == 2; }));
}

TEST(HalfFullQueue, AClientThatIsAskedIsHeard) {
  GatewayProcess gateway(serve_one(puppet(), kOneCallAtATime));
  WebSocketClient client(gateway.url());
  client.send(request("ask", R"({"method":"x"})"));
  const auto id = std::to_string(static_cast<int64_t>(JsonValue(client.message()).number("/id")));
  fill_half(gateway, client);
  client.send(request("blob", R"({"size":1})", "4"));
  client.send(result(id, "7"));
  EXPECT_EQ(client.message(), result("1", result("\"ask-1\"", "7")));
  for (const char* later : {"2", "3", "4"}) EXPECT_EQ(client.message(), result(later, "\"x\""));
}

TEST(HalfFullQueue, AClientThatLeavesIsNoticed) {
  GatewayProcess gateway(serve_one(puppet(), kOneCallAtATime));
  WebSocketClient client(gateway.url());
  client.send(request("ask", R"({"method":"x"})"));
  client.message();
  fill_half(gateway, client);
  client.close();
  // The child's request fails, and the child serves other clients.
  WebSocketClient other(gateway.url());
  EXPECT_EQ(other.call("blob", R"({"size":1})"), result("1", "\"x\""));
}

}  // namespace
}  // namespace stdgate::harness::back_pressure_test
