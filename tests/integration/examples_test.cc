// deploy/examples: stdgate serves each configuration, and the other files agree with stdgate. The
// servers are scripts that stand in for the programs named in the examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"

namespace stdgate::harness::examples_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kExamples = STDGATE_SOURCE_DIR "/deploy/examples/";

// Answers initialize, and answers every other request with its own command line.
constexpr const char* kMcpServer = R"sh(#!/bin/sh
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  result="{\"content\":[{\"type\":\"text\",\"text\":\"$(basename "$0") $*\"}]}"
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}' ;;
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
)sh";

// Answers every request with its arguments, and exits at "exit".
constexpr const char* kLanguageServer = R"sh(#!/bin/sh
while IFS= read -r line; do
  case $line in
    Content-Length:*) length=$(printf %s "${line#*:}" | tr -d ' \r') ;;
    ?)
      body=$(dd bs=1 count="$length" 2>/dev/null)
      id=$(printf %s "$body" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
      [ -n "$id" ] || { case $body in *'"exit"'*) exit 0 ;; esac; continue; }
      text="{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":\"$*\"}"
      printf 'Content-Length: %s\r\n\r\n%s' "${#text}" "$text"
      ;;
  esac
done
)sh";

std::string read_example(const std::string& name) {
  std::ifstream in(kExamples + name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A folder with the stand-ins, which must outlive the gateway.
class StandIns {
 public:
  StandIns() {
    add("mcp-server-filesystem", kMcpServer);
    add("mcp-server-memory", kMcpServer);
    add("clangd", kLanguageServer);
    folder_.write("sessions.key", std::string(64, '5') + "\n");
  }
  [[nodiscard]] std::string key_file() const { return folder_.path() / "sessions.key"; }
  [[nodiscard]] std::string search_path() const {
    return folder_.path().string() + ":/usr/bin:/bin";
  }

 private:
  void add(const std::string& name, const std::string& script) const {
    folder_.write(name, script);
    fs::permissions(folder_.path() / name, fs::perms::owner_all);
  }
  TemporaryFolder folder_;
};

// Serves an example. The kernel chooses the ports of listeners, whatever the example says.
GatewaySetup served(const std::string& config, const StandIns& stand_ins) {
  GatewaySetup setup;
  setup.config = config;
  setup.arguments = {"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"};
  setup.environment = {{"PATH", stand_ins.search_path()},
                       {"FILES", "/files"},
                       {"HOSTNAME", "gate-1"},
                       {"KEY_FILE", stand_ins.key_file()},
                       {"MEMORY_FILE", "@DIR@/memory.json"},
                       {"PROJECT", "@DIR@"}};
  return setup;
}

constexpr const char* kInitialize =
    R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}})";

// Opens a session at `path` and returns its id.
std::string expect_mcp_session(HttpClient& client, const std::string& path) {
  const HttpResponse opened = client.post(path, request("initialize", kInitialize),
                                          {{"accept", "application/json, text/event-stream"}});
  EXPECT_EQ(opened.status, 200) << opened.body;
  EXPECT_NE(opened.header("mcp-session-id"), "");
  return opened.header("mcp-session-id");
}

std::string tool_call(HttpClient& client, const std::string& path) {
  return client.post(path, request("tools/call", R"({"name":"x","arguments":{}})")).body;
}

TEST(Examples, Files) {
  const StandIns stand_ins;
  const GatewayProcess gateway(served(read_example("files.yaml"), stand_ins));
  HttpClient client = gateway.connect();
  EXPECT_THAT(tool_call(client, "/rpc"), HasSubstr("mcp-server-filesystem /files"));
  expect_mcp_session(client, "/mcp");
}

TEST(Examples, TwoBackends) {
  const StandIns stand_ins;
  const GatewayProcess gateway(served(read_example("two-backends.yaml"), stand_ins));
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.post("/sums/rpc", request("math/add", "[2,3]")).body, result("1", "5"));
  EXPECT_THAT(tool_call(client, "/memory/rpc"), HasSubstr("mcp-server-memory"));
  expect_mcp_session(client, "/mcp");
}

// The load balancers of this example, nginx and HAProxy, are tested in replicas_test.cc.
TEST(Examples, Replicas) {
  const StandIns stand_ins;
  const GatewayProcess gateway(served(read_example("replicas.yaml"), stand_ins));
  HttpClient client = gateway.connect();
  EXPECT_THAT(expect_mcp_session(client, "/mcp"), testing::StartsWith("gate-1."));
}

// The address and the admin port of each replica in Envoy's file.
std::set<std::string> envoy_replicas(const YAML::Node& cluster) {
  std::set<std::string> replicas;
  for (const YAML::Node& locality : cluster["load_assignment"]["endpoints"]) {
    for (const YAML::Node& host : locality["lb_endpoints"]) {
      const YAML::Node socket = host["endpoint"]["address"]["socket_address"];
      replicas.insert(socket["address"].as<std::string>() + ":" +
                      socket["port_value"].as<std::string>() + " " +
                      host["endpoint"]["health_check_config"]["port_value"].as<std::string>());
    }
  }
  return replicas;
}

TEST(Examples, Envoy) {
  const YAML::Node root = YAML::Load(read_example("replicas.envoy.yaml"))["static_resources"];
  const YAML::Node routes = root["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
                                ["route_config"]["virtual_hosts"][0]["routes"];
  std::set<std::string> clusters;
  for (const YAML::Node& cluster : root["clusters"]) {
    clusters.insert(cluster["name"].as<std::string>());
    EXPECT_EQ(cluster["name"].as<std::string>(),
              cluster["load_assignment"]["cluster_name"].as<std::string>());
    EXPECT_EQ(cluster["health_checks"][0]["http_health_check"]["path"].as<std::string>(),
              "/readyz");
    EXPECT_THAT(
        envoy_replicas(cluster),
        testing::ElementsAre("127.0.0.1:8081 9081", "127.0.0.1:8082 9082", "127.0.0.1:8083 9083"));
  }
  EXPECT_THAT(clusters, testing::ElementsAre("all", "gate-0", "gate-1", "gate-2"));
  size_t by_session = 0;
  size_t by_agent = 0;
  size_t by_cookie = 0;
  size_t by_task = 0;
  for (const YAML::Node& route : routes) {
    const auto cluster = route["route"]["cluster"].as<std::string>();
    EXPECT_TRUE(clusters.contains(cluster)) << cluster;
    const YAML::Node header = route["match"]["headers"];
    if (!header) continue;
    if (header[0]["name"].as<std::string>() == "mcp-protocol-version") {
      EXPECT_EQ(cluster, "all") << "by a hash of the client";
      continue;
    }
    const auto first = header[0]["name"].as<std::string>();
    if (first == "cookie") {
      ++by_cookie;
      EXPECT_EQ(header[0]["string_match"]["contains"].as<std::string>(),
                "stdgate-replica=" + cluster);
      continue;
    }
    const bool is_of_task = first == "mcp-method";
    const bool is_of_agent = first == "acp-connection-id";
    ++(is_of_task ? by_task : is_of_agent ? by_agent : by_session);
    if (is_of_task) {
      EXPECT_EQ(header[0]["string_match"]["prefix"].as<std::string>(), "tasks/");
    }
    const YAML::Node id = header[is_of_task ? 1 : 0];
    if (!is_of_agent) {
      EXPECT_EQ(id["name"].as<std::string>(), is_of_task ? "mcp-name" : "mcp-session-id");
    }
    EXPECT_EQ(id["string_match"]["prefix"].as<std::string>(), cluster + ".");
  }
  EXPECT_EQ(by_session, 3U);
  EXPECT_EQ(by_agent, 3U);
  EXPECT_EQ(by_cookie, 3U);
  EXPECT_EQ(by_task, 3U);
}

TEST(Examples, Clangd) {
  const StandIns stand_ins;
  const GatewayProcess gateway(served(read_example("clangd.yaml"), stand_ins));
  WebSocketClient editor(gateway.url());
  EXPECT_THAT(editor.call("initialize", R"({"processId":1,"capabilities":{}})"),
              HasSubstr("--background-index=false"));
}

// The document of this kind in a Kubernetes file.
YAML::Node document(const std::string& text, const std::string& kind) {
  for (const YAML::Node& node : YAML::LoadAll(text)) {
    if (node["kind"].as<std::string>() == kind) return node;
  }
  ADD_FAILURE() << "no " << kind;
  return {};
}

YAML::Node container(const YAML::Node& pod, const std::string& name) {
  for (const YAML::Node& node : pod["containers"]) {
    if (node["name"].as<std::string>() == name) return node;
  }
  ADD_FAILURE() << "no container " << name;
  return {};
}

std::vector<std::string> lines_with(const std::string& text, const std::string& word) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(' ');
    if (line.find(word) != std::string::npos) found.push_back(line.substr(begin));
  }
  return found;
}

TEST(Examples, KubernetesReplicas) {
  const std::string text = read_example("kubernetes-replicas.yaml");
  const YAML::Node files = document(text, "ConfigMap")["data"];
  const YAML::Node set = document(text, "StatefulSet")["spec"];
  const YAML::Node pod = set["template"]["spec"];
  const YAML::Node stdgate = container(pod, "stdgate");
  auto config = files["gateway.yaml"].as<std::string>();
  const auto proxy = files["haproxy.cfg"].as<std::string>();

  // The pods of a StatefulSet are called gate-0.gate and so on. HAProxy must name each of them.
  const auto name = document(text, "StatefulSet")["metadata"]["name"].as<std::string>();
  ASSERT_EQ(lines_with(proxy, ".gate:").size(), set["replicas"].as<size_t>());
  for (size_t i = 0; i < set["replicas"].as<size_t>(); ++i) {
    const std::string pod_name = name + "-" + std::to_string(i);
    EXPECT_THAT(proxy, HasSubstr("server " + pod_name + " " + pod_name + "." +
                                 set["serviceName"].as<std::string>() + ":" +
                                 stdgate["ports"][0]["containerPort"].as<std::string>()));
  }
  EXPECT_EQ(lines_with(proxy, "use-server"),
            lines_with(read_example("replicas.haproxy.cfg"), "use-server"))
      << "the same rules as without Kubernetes";
  EXPECT_GT(pod["terminationGracePeriodSeconds"].as<int>(), 20 + 2 * 2);

  // The key is in the folder where its secret is mounted.
  const std::string keys = "/sessions.key";
  const auto mounted = stdgate["volumeMounts"][1]["mountPath"].as<std::string>();
  const size_t at = config.find(mounted + keys);
  ASSERT_NE(at, std::string::npos);
  const StandIns stand_ins;
  config.replace(at, mounted.size() + keys.size(), stand_ins.key_file());
  const GatewayProcess gateway(served(config, stand_ins));
  HttpClient client = gateway.connect();
  EXPECT_THAT(expect_mcp_session(client, "/mcp"), testing::StartsWith("gate-1."));
  HttpClient admin(gateway.admin_url());
  EXPECT_EQ(admin.get("/readyz").status, 200);
}

// The values of a key in a systemd unit.
std::vector<std::string> unit_values(const std::string& unit, const std::string& key) {
  std::vector<std::string> values;
  std::istringstream lines(unit);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + "=")) values.push_back(line.substr(key.size() + 1));
  }
  return values;
}

TEST(Examples, Service) {
  const std::string unit = read_example("stdgate.service");
  EXPECT_THAT(unit_values(unit, "ExecStart"),
              testing::ElementsAre("/usr/local/bin/stdgate --config /etc/stdgate/gateway.yaml"));
  const TemporaryFolder folder;
  folder.write("gateway.yaml", "backends: 1\n");
  const int wrong = run_stdgate(folder, {"--config", "gateway.yaml"}).exit_code;
  EXPECT_THAT(unit_values(unit, "RestartPreventExitStatus"),
              testing::ElementsAre(std::to_string(wrong)));
  for (const char* key : {"StateDirectory", "LogsDirectory", "RuntimeDirectory"}) {
    EXPECT_THAT(unit_values(unit, key), testing::ElementsAre("stdgate")) << key;
  }
  ASSERT_EQ(unit_values(unit, "TimeoutStopSec").size(), 1U);
  EXPECT_GT(std::stoi(unit_values(unit, "TimeoutStopSec").front()), 20 + 2 * 2);
}

// Each address is written as in gateway.yaml. The default address needs no line in gateway.yaml.
TEST(Examples, Socket) {
  const std::string unit = read_example("stdgate.socket");
  const auto addresses = unit_values(unit, "ListenStream");
  const ProgramRun check = run_stdgate(TemporaryFolder(), {"check", "--", "cat"});
  ASSERT_EQ(addresses.size(), 1U);
  EXPECT_THAT(check.out, HasSubstr("listen: [\"" + addresses.front() + "\"]"));
  EXPECT_THAT(unit, HasSubstr("listen: [\"" + addresses.front() + "\"]"));
  EXPECT_TRUE(unit_values(unit, "Accept").empty());
}

TEST(Examples, Prometheus) {
  const YAML::Node job = YAML::Load(read_example("prometheus.yml"))["scrape_configs"][0];
  const TemporaryFolder folder;
  const ProgramRun check = run_stdgate(folder, {"check", "--", "stdgate", "demo-server"});
  EXPECT_THAT(
      check.out,
      HasSubstr("admin: \"" + job["static_configs"][0]["targets"][0].as<std::string>() + "\""));
  const GatewayProcess gateway(serve_one(demo_server()));
  HttpClient admin(gateway.admin_url());
  const HttpResponse metrics = admin.get(job["metrics_path"].as<std::string>());
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.body, HasSubstr("stdgate_build_info"));
}

TEST(Examples, AllAreTested) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kExamples)) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_THAT(names,
              testing::UnorderedElementsAre(
                  "README.md", "files.yaml", "two-backends.yaml", "clangd.yaml", "stdgate.service",
                  "stdgate.socket", "prometheus.yml", "replicas.yaml", "replicas.nginx.conf",
                  "replicas.haproxy.cfg", "replicas.envoy.yaml", "kubernetes-replicas.yaml"));
}

}  // namespace
}  // namespace stdgate::harness::examples_test
