// `stdgate connect`: a server over the network as a program that a client starts.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/base/text.h"
#include "gateway/tools/connect_session.h"
#include "gateway/tools/peer.h"

namespace stdgate::tools {

namespace {

constexpr ToolOption kUnixOption{"--unix", "PATH", "the gateway's Unix socket, in place of a URL"};
constexpr ToolOption kHeaderOption{"--header", "NAME:VALUE",
                                   "send this with each request; repeatable"};
constexpr ToolOption kTokenFileOption{"--token-file", "FILE",
                                      "a file that has a bearer token; read again after a 401"};
constexpr ToolOption kTokenCommandOption{"--token-command", "COMMAND",
                                         "a shell command that prints one; rerun after a 401"};
constexpr ToolOption kFramingOption{"--framing", "KIND",
                                    "on stdin and stdout: newline or content-length (newline)"};
constexpr std::array kConnectOptions{kUrlOption,          kUnixOption,   kConfigOption,
                                     kHeaderOption,       kKeyOption,    kTokenFileOption,
                                     kTokenCommandOption, kCaOption,     kCertOption,
                                     kCertKeyOption,      kFramingOption};

using Checked = tl::expected<void, std::string>;

Checked bad(std::string why) { return tl::unexpected(std::move(why)); }

bool is_field_text(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
}

// Header fields of the protocol itself, which a client must not set.
bool is_own_field(std::string_view name) {
  constexpr std::array<std::string_view, 9> kOwn{
      "host",   "content-length", "transfer-encoding",    "connection",   "content-type",
      "accept", "mcp-session-id", "mcp-protocol-version", "last-event-id"};
  return std::ranges::find(kOwn, to_lower_ascii(name)) != kOwn.end();
}

Checked read_fields(const ToolArguments& arguments, ConnectPlan& plan) {
  for (const std::string& field : arguments.values("--header")) {
    const size_t colon = field.find(':');
    const std::string name = field.substr(0, colon);
    const std::string_view value = colon == std::string::npos
                                       ? std::string_view()
                                       : trim(std::string_view(field).substr(colon + 1));
    if (!is_token(name) || value.empty() || !is_field_text(value)) {
      return bad("--header: expected NAME:VALUE, as in 'X-Team: core'");
    }
    if (is_own_field(name)) return bad("--header: " + name + " is set by the protocol");
    plan.fields.push_back(name + ": " + std::string(value));
  }
  return {};
}

Checked read_credentials(const ToolArguments& arguments, ConnectPlan& plan) {
  plan.token_file = arguments.value("--token-file");
  plan.token_command = arguments.value("--token-command");
  constexpr std::array<std::string_view, 3> kTokens{"--api-key-file", "--token-file",
                                                    "--token-command"};
  const auto is_given = [&arguments](std::string_view option) { return arguments.has(option); };
  if (std::ranges::count_if(kTokens, is_given) > 1)
    return bad("one of --api-key-file, --token-file and --token-command is enough");
  if (!arguments.has("--api-key-file")) return {};
  const auto key = read_key(arguments.value("--api-key-file"));
  if (!key) return bad("--api-key-file: " + key.error());
  if (!is_field_text(*key)) return bad("--api-key-file: a key is ASCII without blanks");
  plan.fields.push_back("Authorization: Bearer " + *key);
  plan.key_file = arguments.value("--api-key-file");
  return {};
}

// A URL that may be of a socket's scheme.
bool is_url(std::string_view text) {
  constexpr std::array<std::string_view, 4> kSchemes{"http://", "https://", "ws://", "wss://"};
  return std::ranges::any_of(kSchemes, [text](std::string_view scheme) {
    return text.starts_with(scheme) && text.size() > scheme.size();
  });
}

bool has_path(std::string_view url) {
  const size_t path = url.find('/', url.find("://") + 3);
  return path != std::string_view::npos && path + 1 < url.size();
}

Checked check_url(const std::string& url) {
  const std::string web = url.starts_with("ws") ? "http" + url.substr(2) : url;
  if (WebUrl::parse(web)) return {};
  return bad(
      "expected a URL as https://HOST:PORT/PATH, without user, password and fragment, found '" +
      url + "'");
}

Checked name_endpoint(const std::string& url, ConnectPlan& plan) {
  if (auto checked = check_url(url); !checked) return checked;
  if (has_path(url) || url.starts_with("ws")) {
    // An agent's WebSocket cannot be gone on with where it broke, other than its Streamable HTTP.
    const bool is_agent = url.starts_with("ws") && url.ends_with(kAcpPath);
    plan.endpoint = is_agent ? "http" + url.substr(2) : url;
  } else {
    plan.gateway = url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
  }
  return {};
}

Checked read_place(const ToolArguments& arguments, const ToolSurroundings& surroundings,
                   ConnectPlan& plan) {
  const std::string word = arguments.words.empty() ? std::string() : arguments.words.front();
  if (arguments.words.size() > 1) return bad("expected one BACKEND or URL");
  if (arguments.has("--unix") && arguments.has("--url")) return bad("--unix goes without --url");
  if (arguments.has("--unix")) {
    plan.web.unix_socket = arguments.value("--unix");
    if (plan.web.unix_socket.starts_with("unix:")) plan.web.unix_socket.erase(0, 5);
    plan.gateway = "http://localhost";
  }
  if (is_url(word)) {
    if (arguments.has("--url")) return bad("a URL is given twice");
    return name_endpoint(word, plan);
  }
  if (word.find("://") != std::string::npos) return check_url(word);
  plan.backend = word;
  const std::string url = arguments.value("--url");
  if (is_url(url) && has_path(url) && word.empty()) return name_endpoint(url, plan);
  if (is_url(url) && url.starts_with("ws")) return name_endpoint(url, plan);
  if (arguments.has("--unix")) return {};
  const auto gateway = find_gateway(arguments, surroundings);
  if (!gateway) return bad(gateway.error().message);
  plan.gateway = gateway->url;
  plan.web.unix_socket = gateway->unix_socket;
  return {};
}

ToolOutput connect(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  ConnectPlan plan;
  plan.chance = surroundings.chance;
  if (arguments.has_command) {
    return tool_error(kBadUsage, "connect: it reaches a server that runs, and starts none");
  }
  const std::string framing = arguments.value("--framing");
  if (framing == "content-length") {
    plan.framing = rpc::Framing::content_length;
  } else if (!framing.empty() && framing != "newline") {
    return tool_error(kBadUsage, "connect: --framing is newline or content-length");
  }
  for (const auto& read :
       {read_place(arguments, surroundings, plan), read_fields(arguments, plan),
        read_credentials(arguments, plan), read_tls_files(arguments, plan.web)}) {
    if (!read) return tool_error(kBadUsage, "connect: " + read.error());
  }
  ToolOutput output;
  output.exit_code = ConnectSession(std::move(plan)).run();
  return output;
}

constexpr std::string_view kConnectUsage =
    "  stdgate connect BACKEND [options]   of the gateway that gateway.yaml describes\n"
    "  stdgate connect URL [options]       of any server: http(s):// or ws(s)://\n"
    "  stdgate connect [BACKEND] --url URL | --unix PATH [options]\n";
constexpr std::string_view kConnectAbout =
    "Reaches a server over the network by stdin and stdout, for a client that\n"
    "starts its servers: MCP Streamable HTTP of every revision, MCP's older HTTP and\n"
    "SSE, or JSON-RPC over WebSocket. In a client's file, for example:\n"
    "\n"
    "  \"command\": \"stdgate\", \"args\": [\"connect\", \"https://mcp.example.com/mcp\"]\n"
    "\n"
    "connect reconnects when a connection is cut, and begins a new session when the\n"
    "server has lost the old one. A request whose answer was lost gets an error, and\n"
    "is never sent twice.\n"
    "\n"
    "Exit code: 0 the client ended it, 1 the server and its state are gone, 2 usage,\n"
    "3 not reached (address, name, TLS, time), 4 not let in (401, 403, no token),\n"
    "5 no such server (404, no MCP).\n";

}  // namespace

extern const Tool kConnectTool{
    "connect",     "[BACKEND|URL]", "reach a remote server by stdin, stdout",
    kConnectUsage, kConnectAbout,   kConnectOptions,
    false,         connect};

}  // namespace stdgate::tools
