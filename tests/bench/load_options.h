// LoadOptions: what the load generator is asked to do, and the reading of its arguments.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::bench {

enum class LoadMode : uint8_t {
  http,      // JSON-RPC by POST
  mcp,       // MCP Streamable HTTP: a session for each client, then tools/call
  modern,    // MCP's modern era: tools/call without a session
  ws,        // JSON-RPC over WebSocket
  pipe,      // JSON-RPC straight into the pipes of a command: the floor
  get,       // GET; only the status is looked at
  post,      // the POST of `http`; only the status is looked at
  idle_ws,   // WebSockets that are opened and held
  idle_sse,  // the same with event streams
};

struct LoadOptions {
  LoadMode mode = LoadMode::http;
  std::string host;
  uint16_t port = 0;
  std::string path = "/";
  std::vector<std::string> command;  // of `pipe`
  std::string fields;                // more lines of each request's header

  size_t clients = 1;
  size_t in_flight = 1;  // of each client; more than 1 with `ws` and `pipe` only
  size_t sessions = 1;   // of each client of `mcp`, which call in turn
  size_t payload_bytes = 100;
  std::string method = "echo";
  unsigned sleep_ms = 0;  // of method "sleep"

  double warm_up_s = 0.5;
  double seconds = 2;
  uint64_t calls = 0;  // when not 0, the run ends after so many
  double deadline_s = 15;

  pid_t watch = 0;  // a process whose CPU and memory are reported, and those of its descendants
  pid_t kill = 0;   // a process that gets SIGKILL …
  double kill_after_s = 1;  // … so long after the measuring has begun
};

struct LoadArguments {
  LoadOptions options;
  bool done = false;  // --help: `text` was all that was wanted
  std::string text;
};

// Errors: what to print, for exit code 2.
tl::expected<LoadArguments, std::string> parse_load_arguments(int argc, char** argv);

}  // namespace stdgate::bench
