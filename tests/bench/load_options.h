// LoadOptions: the options of the load generator, and their parser.
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
  mcp,       // MCP's modern era: tools/call without a session
  modern,    // MCP's modern era: tools/call without a session
  ws,        // JSON-RPC over WebSocket
  pipe,      // JSON-RPC directly to a command's pipes: the floor
  get,       // GET; only the status is checked
  post,      // the POST of `http`; only the status is checked
  idle_ws,   // WebSockets that are opened and held
  idle_sse,  // event streams that are opened and held
};

struct LoadOptions {
  LoadMode mode = LoadMode::http;
  std::string host;
  uint16_t port = 0;
  std::string path = "/";
  std::vector<std::string> command;  // for `pipe`
  std::string fields;                // further header lines of each request

  size_t clients = 1;
  size_t in_flight = 1;  // per client; more than 1 with `ws` and `pipe` only
  size_t sessions = 1;   // per client of `mcp`; they call in turn
  size_t payload_bytes = 100;
  std::string method = "echo";
  unsigned sleep_ms = 0;  // of method "sleep"

  double warm_up_s = 0.5;
  double seconds = 2;
  uint64_t calls = 0;  // the run ends after this many; 0: no limit
  double deadline_s = 15;

  pid_t watch = 0;          // a process whose CPU and memory are reported, with its descendants
  pid_t kill = 0;           // a process that gets SIGKILL
  double kill_after_s = 1;  // after the measuring has begun
};

struct LoadArguments {
  LoadOptions options;
  bool done = false;  // --help: only `text` is wanted
  std::string text;
};

// An error is a text to print before exit code 2.
tl::expected<LoadArguments, std::string> parse_load_arguments(int argc, char** argv);

}  // namespace stdgate::bench
