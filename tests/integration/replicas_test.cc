// Three replicas of deploy/examples/replicas.yaml behind a real load balancer, nginx and HAProxy,
// each with its example: where sessions go, and what becomes of them when a replica goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/harness/load_balancer.h"
#include "tests/integration/harness/setups.h"

namespace stdgate::harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr size_t kReplicas = 3;

std::string read_example(const std::string& name) {
  std::ifstream in(STDGATE_SOURCE_DIR "/deploy/examples/" + name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// An MCP client: one session, one connection at a time, which it opens again when it was closed.
class Client {
 public:
  explicit Client(std::string url) : url_(std::move(url)) {}

  // Opens a session.
  void initialize() {
    const HttpResponse opened = post(request(
        "initialize",
        R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}})"));
    if (opened.status != 200) throw std::runtime_error("initialize: " + opened.body);
    session = opened.header("mcp-session-id");
    post(request("notifications/initialized", "", ""));
  }
  HttpResponse post(const std::string& body) {
    if (!http_) http_ = std::make_unique<HttpClient>(url_);
    Headers headers = {{"accept", "application/json, text/event-stream"}};
    if (!session.empty()) headers.emplace("mcp-session-id", session);
    try {
      const HttpResponse response = http_->post("/mcp", body, headers);
      if (response.header("connection") == "close") http_.reset();
      return response;
    } catch (const std::runtime_error&) {
      http_.reset();
      throw;
    }
  }
  // The folder in which the child runs that has answered, or what was wrong.
  std::string where() {
    const HttpResponse response = post(request("cwd"));
    std::smatch found;
    static const std::regex kResult(R"re("result":"([^"]*)")re");
    if (response.status == 200 && std::regex_search(response.body, found, kResult)) {
      return found[1];
    }
    return std::to_string(response.status) + " " + response.body;
  }

  std::string session;

 private:
  std::string url_;
  std::unique_ptr<HttpClient> http_;
};

class Replicas : public testing::TestWithParam<std::string> {
 protected:
  Replicas() {
    // A folder of the loopback network for this test alone.
    const auto pid = static_cast<unsigned>(::getpid());
    network_ =
        "127." + std::to_string(16 + (pid >> 8) % 200) + "." + std::to_string(pid & 255) + ".";
    port_ = std::to_string(free_port(network_ + "1"));
    admin_port_ = std::to_string(free_port(network_ + "1"));
    shared_.write("sessions.key", std::string(64, '7') + "\n");
    // The puppet does as an MCP server what the example's server is for.
    fs::create_symlink(puppet().front(), shared_.path() / "mcp-server-filesystem");
    for (size_t i = 0; i < kReplicas; ++i) start(i);
    balancer_ = std::make_unique<LoadBalancer>(balancer_setup());
  }

  void start(size_t replica) {
    const std::string host = network_ + std::to_string(replica + 1);
    GatewaySetup setup;
    setup.config = read_example("replicas.yaml");
    setup.arguments = {"--log-format", "json"};
    setup.environment = {{"HOSTNAME", "gate-" + std::to_string(replica)},
                         {"LISTEN", host + ":" + port_},
                         {"ADMIN", host + ":" + admin_port_},
                         {"KEY_FILE", shared_.path() / "sessions.key"},
                         {"PATH", shared_.path().string() + ":/usr/bin:/bin"},
                         {"FILES", "mcp"}};
    replicas_[replica] = std::make_unique<GatewayProcess>(setup);
  }

  LoadBalancerSetup balancer_setup() const {
    const std::string address = network_ + "9:" + port_;
    std::string text =
        read_example("replicas." + GetParam() + (GetParam() == "nginx" ? ".conf" : ".cfg"));
    text = std::regex_replace(text, std::regex("127\\.0\\.0\\.1:808([123])"),
                              network_ + "$01:" + port_);
    text = std::regex_replace(text, std::regex("port 908[123]"), "port " + admin_port_);
    text = std::regex_replace(text, std::regex("listen 80;"), "listen " + address + ";");
    text = std::regex_replace(text, std::regex("bind :80\n"), "bind " + address + "\n");
    EXPECT_THAT(text, HasSubstr(address));
    return {GetParam(), text, address};
  }

  [[nodiscard]] std::string url() const { return balancer_->url(); }
  [[nodiscard]] std::string folder(size_t replica) const { return replicas_[replica]->folder(); }
  // Which replica opened it, by its name.
  static size_t home_of(const Client& client) {
    EXPECT_THAT(client.session, testing::MatchesRegex("gate-[012]\\.[A-Za-z0-9_-]+"));
    return static_cast<size_t>(client.session[5] - '0');
  }
  // Until each replica has some.
  std::vector<Client> open_everywhere() {
    std::vector<Client> clients;
    std::set<size_t> homes;
    eventually("every replica has sessions", [&] {
      clients.emplace_back(url()).initialize();
      homes.insert(home_of(clients.back()));
      return homes.size() == kReplicas && clients.size() >= 9;
    });
    return clients;
  }

  TemporaryFolder shared_;
  std::string network_;
  std::string port_;
  std::string admin_port_;
  std::array<std::unique_ptr<GatewayProcess>, kReplicas> replicas_;
  std::unique_ptr<LoadBalancer> balancer_;
};

TEST_P(Replicas, SessionsStayWithTheReplicaThatTheirIdNames) {
  std::vector<Client> clients = open_everywhere();
  for (int round = 0; round < 4; ++round) {
    for (Client& client : clients) EXPECT_EQ(client.where(), folder(home_of(client)));
  }
}

INSTANTIATE_TEST_SUITE_P(LoadBalancers, Replicas, testing::Values("nginx", "haproxy"),
                         [](const auto& given) { return given.param; });

}  // namespace
}  // namespace stdgate::harness
