// Helpers that many tests share: commands, configurations, requests, and views of a gateway's
// state.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/harness/gateway_process.h"
#include "tests/integration/harness/json_value.h"

namespace stdgate::harness {

using Command = std::vector<std::string>;

Command demo_server();
Command puppet(const std::string& mode = "jsonrpc");  // tests/support/puppet_child.cc
Command rogue(const Command& arguments);              // tests/support/rogue_child.cc
Command lying(const Command& rules);                  // tests/support/lying_child.cc
Command shell(const std::string& script);

// A backend as an entry of the YAML flow map `backends`: "NAME: { command: …, OPTIONS }". Speaks
// plain JSON-RPC unless `options` names a protocol.
std::string backend(const std::string& name, const Command& command,
                    const std::string& options = "");
// A configuration with these backends. `root`: further lines at the top level. The log is JSON
// unless `root` sets another format.
GatewaySetup serve(const std::vector<std::string>& backends, const std::string& root = "");
// A configuration with one backend, "main".
GatewaySetup serve_one(const Command& command, const std::string& options = "",
                       const std::string& root = "");

// {"jsonrpc":"2.0","id":…,"method":…,"params":…}. An empty `params` is left out; an empty `id`
// makes a notification.
std::string request(std::string_view method, std::string_view params = "",
                    std::string_view id = "1");
// The answer to a call by POST /rpc.
HttpResponse call(HttpClient& client, std::string_view method, std::string_view params = "",
                  std::string_view id = "1");
// {"jsonrpc":"2.0","id":…,"result":…}
std::string result(std::string_view id, std::string_view value);

const Headers& wants_events();  // Accept: text/event-stream

// The page /debug/state.
JsonValue state_of(const GatewayProcess& gateway);
// The number of the first backend's children in this state; an empty state means any.
size_t children_in(const JsonValue& state, std::string_view child_state = "");
// Wait until the first backend has `count` ready children, or `count` calls in flight.
void await_children(const GatewayProcess& gateway, size_t count);
void await_in_flight(const GatewayProcess& gateway, size_t count);
// The log's lines of this event ("call"); without `event`, all lines. Throws if a line is not JSON.
std::vector<JsonValue> log_of(const GatewayProcess& gateway, std::string_view event = "");

// Writes a new configuration and makes the gateway read it (SIGHUP). Whether the gateway has
// accepted it.
bool reload(const GatewayProcess& gateway, const std::string& text);
// Waits until the gateway has read its configuration `reloads` times. Whether it has accepted the
// last.
bool await_reload(const GatewayProcess& gateway, double reloads);

// Runs `work` with 0 … count-1 at once, each in its own thread. Its exceptions fail the test.
void in_parallel(size_t count, const std::function<void(size_t)>& work);

// Raises this process's limit of open files to the hard limit.
void allow_many_files();

}  // namespace stdgate::harness
