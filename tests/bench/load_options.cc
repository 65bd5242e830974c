#include "tests/bench/load_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>
#include <string_view>

#include "tests/bench/call_text.h"

namespace stdgate::bench {
namespace {

using Checked = tl::expected<void, std::string>;

constexpr const char* kFooter = R"(
modes:
  http       JSON-RPC by POST over kept connections, a call at a time each
  mcp        MCP Streamable HTTP: a session each, then tools/call of the tool "echo"
  modern     the same call of MCP's modern era (2026-07-28), without a session
  ws         JSON-RPC over WebSocket
  pipe       straight into the pipes of the command behind "--": what no gateway can beat
  get, post  status 200 is all that is checked; post sends what http does
  idle-ws, idle-sse   open --clients connections and hold them for --seconds

Prints one line of JSON. Exit code 0: no errors; 1: errors, or it could not start; 2: arguments.
"errors" are wrong and missing answers, "faults" well-formed JSON-RPC errors, counted by their code.

example:
  load http --url http://127.0.0.1:8080/rpc --clients 16 --seconds 3
)";

const std::map<std::string, LoadMode>& modes() {
  static const std::map<std::string, LoadMode> kModes = {
      {"http", LoadMode::http}, {"mcp", LoadMode::mcp},         {"modern", LoadMode::modern},
      {"ws", LoadMode::ws},     {"pipe", LoadMode::pipe},       {"get", LoadMode::get},
      {"post", LoadMode::post}, {"idle-ws", LoadMode::idle_ws}, {"idle-sse", LoadMode::idle_sse},
  };
  return kModes;
}

bool may_have_many_in_flight(LoadMode mode) {
  return mode == LoadMode::ws || mode == LoadMode::pipe;
}

// scheme://HOST:PORT/PATH, where the scheme is http or ws, and HOST is an IPv4 address.
Checked parse_url(std::string_view url, LoadOptions& options) {
  const auto wrong = [url] {
    return tl::unexpected("--url: not http://ADDRESS:PORT/PATH: " + std::string(url));
  };
  std::string_view rest = url;
  for (const std::string_view scheme : {"http://", "ws://"}) {
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  }
  if (rest.size() == url.size()) return wrong();
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (slash < rest.size()) options.path = rest.substr(slash);
  rest = rest.substr(0, slash);
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  options.host = rest.substr(0, colon);
  if (options.host == "localhost") options.host = "127.0.0.1";
  const std::string_view port = rest.substr(colon + 1);
  const char* const end = port.data() + port.size();
  const auto read = std::from_chars(port.data(), end, options.port);
  if (read.ec != std::errc() || read.ptr != end || options.port == 0) return wrong();
  return {};
}

Checked check(const LoadOptions& options, const std::string& url) {
  const bool piped = options.mode == LoadMode::pipe;
  if (piped == options.command.empty()) {
    return tl::unexpected(std::string("pipe, and nothing else, needs a command, behind \"--\""));
  }
  if (piped != url.empty()) return tl::unexpected(std::string("every mode but pipe needs --url"));
  if (piped && options.clients != 1) return tl::unexpected(std::string("pipe has one client"));
  if (options.in_flight > 1 && !may_have_many_in_flight(options.mode)) {
    return tl::unexpected(std::string("--in-flight: only ws and pipe take more than 1"));
  }
  if (options.sessions > 1 && options.mode != LoadMode::mcp) {
    return tl::unexpected(std::string("--sessions: only mcp takes more than 1"));
  }
  return {};
}

}  // namespace

tl::expected<LoadArguments, std::string> parse_load_arguments(int argc, char** argv) {
  LoadArguments arguments;
  LoadOptions& options = arguments.options;
  std::string url;
  CLI::App app("Calls a JSON-RPC server as fast as it answers, and checks every answer.", "load");
  app.footer(kFooter);
  app.add_option("mode", options.mode)->required()->transform(CLI::Transformer(modes()));
  app.add_option("--url", url, "http://ADDRESS:PORT/PATH");
  app.add_option("command", options.command, "pipe: the program and its arguments, after \"--\"");
  std::vector<std::string> headers;
  app.add_option("--header", headers, "\"NAME: VALUE\" of each request; repeatable")
      ->allow_extra_args(false);
  app.add_option("--clients", options.clients)->capture_default_str()->check(CLI::Range(1, 60000));
  app.add_option("--in-flight", options.in_flight, "calls of each client at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--sessions", options.sessions, "mcp: of each client, which call in turn")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--payload", options.payload_bytes, "bytes of text in each call")
      ->capture_default_str()
      ->check(CLI::Range(CallText::kLeastPayload, CallText::kMaxPayload));
  app.add_option("--method", options.method, "echo, or sleep")
      ->capture_default_str()
      ->check(CLI::IsMember({"echo", "sleep"}));
  app.add_option("--sleep-ms", options.sleep_ms, "of method sleep")->check(CLI::Range(0, 60000));
  app.add_option("--warm-up", options.warm_up_s, "seconds before the measuring")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 600.0));
  app.add_option("--seconds", options.seconds, "of measuring")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 86400.0));
  app.add_option("--calls", options.calls, "end after so many answers instead");
  app.add_option("--deadline", options.deadline_s, "seconds without any answer that end the run")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 600.0));
  app.add_option("--watch", options.watch, "PID: report its CPU and memory, and its descendants'");
  app.add_option("--kill", options.kill, "PID: kill -9 it while calls are in flight");
  app.add_option("--kill-after", options.kill_after_s, "seconds of measuring before that")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    arguments.done = true;
    arguments.text = app.help();
    return arguments;
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(std::string(error.what()) + "\nload --help says more");
  }
  for (const std::string& header : headers) {
    if (header.find(": ") == std::string::npos) {
      return tl::unexpected("--header: not \"NAME: VALUE\": " + header);
    }
    options.fields.append(header).append("\r\n");
  }
  if (!url.empty()) {
    if (const Checked read = parse_url(url, options); !read) return tl::unexpected(read.error());
  }
  if (const Checked good = check(options, url); !good) return tl::unexpected(good.error());
  return arguments;
}

}  // namespace stdgate::bench
