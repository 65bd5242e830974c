// What many tests begin with: commands, configurations, requests, and looks at what a gateway says.
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

// A backend as an entry of `backends`, which is a YAML flow map: "NAME: { command: …, OPTIONS }".
// Speaks plain JSON-RPC unless `options` names a protocol.
std::string backend(const std::string& name, const Command& command,
                    const std::string& options = "");
// A file of these entries; `root` is whole lines beside them. The log is JSON unless it says else.
GatewaySetup serve(const std::vector<std::string>& backends, const std::string& root = "");
// One backend of the name "main".
GatewaySetup serve_one(const Command& command, const std::string& options = "",
                       const std::string& root = "");

// {"jsonrpc":"2.0","id":…,"method":…,"params":…}; without `params`, and as a notification without
// `id`, when those are empty.
std::string request(std::string_view method, std::string_view params = "",
                    std::string_view id = "1");
// The answer to one call over POST /rpc.
HttpResponse call(HttpClient& client, std::string_view method, std::string_view params = "",
                  std::string_view id = "1");
// {"jsonrpc":"2.0","id":…,"result":…}
std::string result(std::string_view id, std::string_view value);

const Headers& wants_events();  // Accept: text/event-stream

// /debug/state.
JsonValue state_of(const GatewayProcess& gateway);
// How many children the first backend has in this state; in any when it is empty.
size_t children_in(const JsonValue& state, std::string_view child_state = "");
// Waits until as many children of the first backend are ready, or calls in flight there.
void await_children(const GatewayProcess& gateway, size_t count);
void await_in_flight(const GatewayProcess& gateway, size_t count);
// The log's lines of one event ("call"), of all without; throws when one is no JSON.
std::vector<JsonValue> log_of(const GatewayProcess& gateway, std::string_view event = "");

// Gives the gateway another file and asks it to read that (SIGHUP); whether it could use it.
bool reload(const GatewayProcess& gateway, const std::string& text);
// Waits until the gateway has read its configuration again as often; whether it could use it.
bool await_reload(const GatewayProcess& gateway, double reloads);

// Runs `work` with 0 … count-1, each in a thread of its own, at once. What it throws is a failure
// of the test.
void in_parallel(size_t count, const std::function<void(size_t)>& work);

// Files up to the hard limit may be open in this process.
void allow_many_files();

}  // namespace stdgate::harness
