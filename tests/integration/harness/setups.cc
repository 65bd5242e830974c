#include "tests/integration/harness/setups.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <exception>
#include <fstream>
#include <sstream>
#include <thread>

#include "gateway/rpc/json_text.h"

namespace stdgate::harness {

Command demo_server() { return {"stdgate", "demo-server"}; }

Command puppet(const std::string& mode) { return {STDGATE_PUPPET_CHILD, mode}; }

Command rogue(const Command& arguments) {
  Command command = {STDGATE_ROGUE_CHILD};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Command lying(const Command& rules) {
  Command command = {STDGATE_LYING_CHILD};
  command.insert(command.end(), rules.begin(), rules.end());
  return command;
}

Command shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

std::string backend(const std::string& name, const Command& command, const std::string& options) {
  std::string words;
  for (const std::string& word : command) {
    words += words.empty() ? "\"" : ", \"";
    for (const char byte : word) {
      if (byte == '"' || byte == '\\') words += '\\';
      words += byte == '$' ? "$$" : std::string(1, byte);
    }
    words += '"';
  }
  std::string entry = name + ": { command: [" + words + "]";
  if (options.find("protocol:") == std::string::npos) entry += ", protocol: jsonrpc";
  if (!options.empty()) entry += ", " + options;
  return entry + " }";
}

GatewaySetup serve(const std::vector<std::string>& backends, const std::string& root) {
  GatewaySetup setup;
  setup.config = root + "\n";
  if (root.find("log:") == std::string::npos) setup.config += "log: { format: json }\n";
  setup.config += "backends: {\n";
  for (const std::string& entry : backends) setup.config += "  " + entry + ",\n";
  setup.config += "  }\n";
  return setup;
}

GatewaySetup serve_one(const Command& command, const std::string& options,
                       const std::string& root) {
  return serve({backend("main", command, options)}, root);
}

std::string request(std::string_view method, std::string_view params, std::string_view id) {
  std::string text = R"({"jsonrpc":"2.0")";
  if (!id.empty()) text.append(R"(,"id":)").append(id);
  text += R"(,"method":)";
  rpc::append_json_string(text, method);
  if (!params.empty()) text.append(R"(,"params":)").append(params);
  return text + "}";
}

HttpResponse call(HttpClient& client, std::string_view method, std::string_view params,
                  std::string_view id) {
  return client.post("/rpc", request(method, params, id));
}

std::string result(std::string_view id, std::string_view value) {
  std::string text = R"({"jsonrpc":"2.0","id":)";
  return text.append(id).append(R"(,"result":)").append(value).append("}");
}

const Headers& wants_events() {
  static const Headers kHeaders = {{"accept", "text/event-stream"}};
  return kHeaders;
}

JsonValue state_of(const GatewayProcess& gateway) {
  return JsonValue(HttpClient(gateway.admin_url()).get("/debug/state").body);
}

size_t children_in(const JsonValue& state, std::string_view child_state) {
  size_t count = 0;
  for (size_t i = 0; i < state.size("/backends/0/children"); ++i) {
    const std::string child = "/backends/0/children/" + std::to_string(i);
    if (child_state.empty() || state.text(child + "/state") == child_state) ++count;
  }
  return count;
}

void await_children(const GatewayProcess& gateway, size_t count) {
  eventually(std::to_string(count) + " children are ready",
             [&] { return children_in(state_of(gateway), "ready") == count; });
}

void await_in_flight(const GatewayProcess& gateway, size_t count) {
  eventually(std::to_string(count) + " calls are in flight", [&] {
    return state_of(gateway).number("/backends/0/in_flight") == static_cast<double>(count);
  });
}

std::vector<JsonValue> log_of(const GatewayProcess& gateway, std::string_view event) {
  std::vector<JsonValue> found;
  std::istringstream lines(gateway.log());
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    JsonValue value(line);
    if (event.empty() || value.text("/event") == event) found.push_back(std::move(value));
  }
  return found;
}

bool await_reload(const GatewayProcess& gateway, double reloads) {
  EXPECT_TRUE(eventually("it has been read again", [&] {
    return gateway.metrics().sum("stdgate_config_reloads_total") >= reloads;
  }));
  return gateway.metrics().value("stdgate_config_last_reload_successful", {}) == 1;
}

bool reload(const GatewayProcess& gateway, const std::string& text) {
  gateway.write_config(text);
  const double before = gateway.metrics().sum("stdgate_config_reloads_total");
  gateway.signal(SIGHUP);
  return await_reload(gateway, before + 1);
}

void in_parallel(size_t count, const std::function<void(size_t)>& work) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&work, i] {
      try {
        work(i);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "in thread " << i << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void allow_many_files() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace stdgate::harness
