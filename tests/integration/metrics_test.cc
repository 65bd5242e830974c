// /metrics counts exactly what has happened, in the format of Prometheus.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::metrics_test {
namespace {

constexpr const char* kRequests = "stdgate_request_duration_seconds_count";
constexpr const char* kDropped = "stdgate_messages_dropped_total";
constexpr const char* kNotifications = "stdgate_notifications_total";

std::optional<double> requests(const MetricsText& metrics, const std::string& method,
                               const std::string& outcome) {
  return metrics.value(
      kRequests,
      {{"backend", "main"}, {"method", method}, {"transport", "rpc"}, {"outcome", outcome}});
}

TEST(Metrics, CountEachCallByMethodAndOutcome) {
  GatewayProcess gateway(
      serve_one(puppet(), "timeout: 200ms, pool: { min: 1, max: 1, max_in_flight: 1, queue: 1 }",
                "limits: { message: 64KiB }"));
  await_children(gateway, 1);
  HttpClient client = gateway.connect();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(client, "cwd").status, 200);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call(client, "pid").status, 200);
  EXPECT_EQ(call(client, "unknown").status, 200);
  client.post("/rpc", "[" + request("cwd") + ",1," + request("cwd", "", "") + "]");
  EXPECT_EQ(client.post("/rpc", "{").status, 400);
  EXPECT_EQ(client.post("/rpc", "[]").status, 400);
  EXPECT_EQ(gateway.connect().post("/rpc", std::string(70'000, ' ')).status, 413);
  EXPECT_EQ(call(client, "blob", R"({"size":70000})").status, 413);
  EXPECT_EQ(call(client, "hang").status, 504);
  // A call in flight, a call in the queue, and a call too many.
  std::vector<HttpClient> others;
  for (const char* place : {"in_flight", "queued"}) {
    others.push_back(gateway.connect());
    others.back().send_request("POST", "/rpc", request("hang"), {});
    EXPECT_TRUE(eventually(
        place, [&] { return state_of(gateway).number("/backends/0/" + std::string(place)) == 1; }));
  }
  EXPECT_EQ(call(client, "cwd").status, 503);
  others[1].close();
  EXPECT_TRUE(eventually("none waits",
                         [&] { return state_of(gateway).number("/backends/0/queued") == 0; }));
  others[0].close();
  await_in_flight(gateway, 0);
  EXPECT_EQ(call(client, "exit").status, 502);

  const MetricsText metrics = gateway.metrics();
  EXPECT_EQ(requests(metrics, "cwd", "ok"), 4);
  EXPECT_EQ(requests(metrics, "pid", "ok"), 2);
  EXPECT_EQ(requests(metrics, "_other", "error"), 1);
  EXPECT_EQ(requests(metrics, "_other", "parse_error"), 1);
  EXPECT_EQ(requests(metrics, "_other", "invalid_request"), 2);
  EXPECT_EQ(requests(metrics, "_other", "too_large"), 2);
  EXPECT_EQ(requests(metrics, "hang", "timeout"), 1);
  EXPECT_EQ(requests(metrics, "hang", "cancelled"), 2);
  EXPECT_EQ(requests(metrics, "cwd", "overloaded"), 1);
  EXPECT_EQ(requests(metrics, "exit", "child_failed"), 1);
  EXPECT_EQ(metrics.sum(kRequests), 17);
  EXPECT_EQ(metrics.sum("stdgate_requests_in_flight"), 0);
  // The calls that were written to the child: all except the refused calls and the call that left
  // the queue.
  EXPECT_EQ(metrics.sum("stdgate_child_duration_seconds_count"), 11);
  EXPECT_EQ(metrics.sum("stdgate_queue_duration_seconds_count"), 12);
}

TEST(Metrics, InventedMethodNamesDoNotGrowIt) {
  GatewayProcess gateway(
      serve({backend("main", demo_server(), "default: true"), backend("obliging", rogue({"rpc"}))},
            "metrics: { methods: 10 }\nlog: { level: error }"));
  HttpClient client = gateway.connect();
  HttpClient admin(gateway.admin_url());
  const auto lines = [&] {
    const std::string text = admin.get("/metrics").body;
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto ask = [&](const std::string& path, size_t first) {
    std::string batch = "[";
    for (size_t i = first; i < first + 500; ++i) {
      batch += (i == first ? "" : ",") + request("invented/" + std::to_string(i)) + "," +
               request("told/" + std::to_string(i), "", "");
    }
    EXPECT_EQ(client.post(path, batch + "]").status, 200);
  };
  for (const char* path : {"/rpc", "/obliging/rpc"}) ask(path, 0);
  const auto before = lines();
  for (size_t i = 1; i < 20; ++i) {
    for (const char* path : {"/rpc", "/obliging/rpc"}) ask(path, i * 500);
  }
  EXPECT_EQ(lines(), before);
  const MetricsText metrics = gateway.metrics();
  EXPECT_EQ(metrics.sum(kRequests, {{"backend", "main"}, {"method", "_other"}}), 10'000);
  EXPECT_EQ(metrics.sum(kRequests, {{"backend", "obliging"}}), 10'000);
  // Ten names of a child that answers to every method; all other names together.
  EXPECT_EQ(metrics.sum(kRequests, {{"backend", "obliging"}, {"method", "_other"}}), 9'990);
  EXPECT_EQ(metrics.series("stdgate_child_duration_seconds_count"), 12U);
  EXPECT_EQ(metrics.sum(kNotifications, {{"method", "_other"}, {"direction", "to_child"}}), 20'000);
}

TEST(Metrics, CountNotificationsBothWaysAndDrops) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { min: 1, max: 1 }"));
  HttpClient client = gateway.connect();
  ASSERT_EQ(call(client, "cwd").status, 200);
  EXPECT_EQ(client.post("/rpc", request("cwd", "", "")).status, 204);
  EXPECT_EQ(client.post("/rpc", request("$/cancelRequest", R"({"id":5})", "")).status, 204);
  EXPECT_EQ(client.post("/rpc", R"({"jsonrpc":"2.0","id":5,"result":1})").status, 204);
  const std::string note = R"({"line":"{\"jsonrpc\":\"2.0\",\"method\":\"note\"}"})";
  EXPECT_EQ(call(client, "say", note).status, 200);  // dropped: the caller takes no events
  client.post("/rpc", request("say", note), wants_events());
  call(client, "say", R"({"line":"noise"})");

  const MetricsText metrics = gateway.metrics();
  EXPECT_EQ(metrics.sum(kNotifications, {{"method", "cwd"}, {"direction", "to_child"}}), 1);
  EXPECT_EQ(metrics.sum(kNotifications, {{"method", "note"}, {"direction", "to_client"}}), 1);
  EXPECT_EQ(metrics.sum(kNotifications), 2);
  for (const char* reason : {"unknown_cancel", "stray_response", "no_listener", "not_json"}) {
    EXPECT_EQ(metrics.sum(kDropped, {{"reason", reason}}), 1) << reason;
  }
  EXPECT_EQ(metrics.sum(kDropped), 4);
}

TEST(Metrics, CountChildrenTheirStartsEndsAndCosts) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { min: 1, max: 2, backoff_min: 1ms }"));
  HttpClient client = gateway.connect();
  ASSERT_EQ(call(client, "cwd").status, 200);
  call(client, "exit", R"({"code":1})");
  ASSERT_EQ(call(client, "cwd").status, 200);
  const MetricsText metrics = gateway.metrics();
  EXPECT_EQ(metrics.sum("stdgate_child_starts_total", {{"reason", "minimum"}}), 1);
  EXPECT_EQ(metrics.sum("stdgate_child_starts_total", {{"reason", "restart"}}), 1);
  EXPECT_EQ(metrics.sum("stdgate_child_starts_total"), 2);
  EXPECT_EQ(metrics.sum("stdgate_child_exits_total", {{"reason", "exit_nonzero"}}), 1);
  EXPECT_EQ(metrics.sum("stdgate_child_exits_total"), 1);
  EXPECT_EQ(metrics.sum("stdgate_child_start_duration_seconds_count"), 2);
  EXPECT_EQ(metrics.value("stdgate_children", {{"backend", "main"}, {"state", "ready"}}), 1);
  EXPECT_EQ(metrics.sum("stdgate_children"), 1);
  EXPECT_GT(metrics.sum("stdgate_child_resident_memory_bytes", {{"backend", "main"}}), 100'000);
  EXPECT_GT(metrics.sum("stdgate_child_cpu_seconds_total", {{"backend", "main"}}), 0);
  for (const char* name :
       {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
        "process_start_time_seconds", "stdgate_build_info", "stdgate_loop_lag_seconds"}) {
    EXPECT_EQ(metrics.series(name), 1U) << name;
  }
}

TEST(Metrics, CountConnectionsAndEveryByte) {
  GatewayProcess gateway(serve_one(demo_server()));
  const auto bytes = [&](const std::string& direction) {
    return gateway.metrics().sum("stdgate_bytes_total", {{"direction", direction}});
  };
  HttpClient client = gateway.connect();
  const std::string body = request("math/add", "[1,2]");
  const std::string sent =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: "
      "close\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  client.send(sent);
  const std::string received = client.read_to_end();
  EXPECT_EQ(gateway.metrics().sum("stdgate_connections", {{"transport", "http"}}), 1);
  client.close();
  EXPECT_TRUE(
      eventually("it is gone", [&] { return gateway.metrics().sum("stdgate_connections") == 0; }));
  EXPECT_EQ(bytes("in"), sent.size());
  EXPECT_EQ(bytes("out"), received.size());
}

// --- The text format, version 0.0.4 --------------------------------------------------------------

// The family of a sample: "x_bucket" belongs to "x" if x is a histogram.
std::string family_of(const std::string& name, const std::map<std::string, std::string>& types) {
  for (const std::string suffix : {"_bucket", "_sum", "_count"}) {
    if (!name.ends_with(suffix)) continue;
    const std::string stem = name.substr(0, name.size() - suffix.size());
    const auto type = types.find(stem);
    if (type != types.end() && type->second == "histogram") return stem;
  }
  return name;
}

// The labels of a bucket without its upper bound.
std::string without_bound(std::string labels) {
  const size_t bound = labels.find("le=\"");
  if (bound == std::string::npos) return labels;
  labels.erase(bound, labels.find('"', bound + 4) + 1 - bound);
  while (labels.ends_with(',')) labels.pop_back();
  return labels;
}

struct Sample {
  std::string name;
  std::string labels;
  double value = 0;
};

Sample read_sample(const std::string& line) {
  const size_t name_end = line.find_first_of("{ ");
  const size_t value_begin = line.rfind(' ') + 1;
  Sample sample{line.substr(0, name_end), "", std::stod(line.substr(value_begin))};
  if (line[name_end] == '{') {
    sample.labels = line.substr(name_end + 1, line.rfind('}') - name_end - 1);
  }
  return sample;
}

// The lines that have been read, checked by the rules that concern several lines.
class Scrape {
 public:
  void add_comment(const std::string& line) {
    std::istringstream words(line);
    std::string hash;
    std::string keyword;
    std::string family;
    std::string type;
    words >> hash >> keyword >> family >> type;
    if (keyword == "HELP") {
      EXPECT_TRUE(helped_.insert(family).second) << line;
    } else {
      EXPECT_TRUE(types_.emplace(family, type).second) << line;
    }
  }

  void add_sample(const std::string& line) {
    const Sample sample = read_sample(line);
    const std::string family = family_of(sample.name, types_);
    EXPECT_TRUE(types_.contains(family) && helped_.contains(family)) << line;
    if (types_[family] == "counter") {
      EXPECT_TRUE(family.ends_with("_total")) << line;
    }
    if (types_[family] != "histogram") return;
    const std::string series = family + "{" + without_bound(sample.labels);
    if (sample.name.ends_with("_bucket")) {
      EXPECT_GE(sample.value, buckets_[series]) << line;
      buckets_[series] = sample.value;
      if (line.find("le=\"+Inf\"") != std::string::npos) infinite_[series] = sample.value;
    } else if (sample.name.ends_with("_count")) {
      counts_[series] = sample.value;
    }
  }

  void expect_complete() const {
    EXPECT_EQ(infinite_, counts_);
    EXPECT_GE(counts_.size(), 8U);
    EXPECT_EQ(helped_.size(), types_.size());
  }

 private:
  std::set<std::string> helped_;
  std::map<std::string, std::string> types_;
  std::map<std::string, double> buckets_;  // the latest bucket, by family and labels
  std::map<std::string, double> infinite_;
  std::map<std::string, double> counts_;
};

TEST(Metrics, EveryLineIsInTheGrammarAndHistogramsAddUp) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  for (int i = 0; i < 20; ++i) call(client, "math/add", "[1,2]");
  call(client, "sleep", "[30]");
  call(client, "echo", "[]");
  client.post("/rpc", "{");
  const HttpResponse response = HttpClient(gateway.admin_url()).get("/metrics");
  EXPECT_EQ(response.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_TRUE(response.body.ends_with('\n'));
  Scrape scrape;
  std::istringstream lines(response.body);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) {
      EXPECT_THAT(line, testing::MatchesRegex("# (HELP [a-zA-Z_:][a-zA-Z0-9_:]* .+|"
                                              "TYPE [a-zA-Z_:][a-zA-Z0-9_:]* "
                                              "(counter|gauge|histogram))"));
      scrape.add_comment(line);
    } else {
      ASSERT_THAT(
          line, testing::MatchesRegex(R"([a-zA-Z_:][a-zA-Z0-9_:]*)"
                                      R"((\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\]|\\["\n])*",?)*\})?)"
                                      R"( ([-+]?([0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|Inf)|NaN))"));
      scrape.add_sample(line);
    }
  }
  scrape.expect_complete();
}

}  // namespace
}  // namespace stdgate::harness::metrics_test
