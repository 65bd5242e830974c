#include "gateway/tools/snippet_tool.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/rpc/json_writer.h"

namespace stdgate::tools {

namespace {

constexpr std::string_view kNoAddress = "http://localhost/";  // how a Unix socket is asked
constexpr std::string_view kKey = "Bearer YOUR_API_KEY";

using Backends = std::vector<PeerBackend>;

// The place whose URL ends so; empty: there is none.
std::string place_of(const PeerBackend& backend, std::string_view end) {
  for (const std::string& place : backend.places) {
    if (place.ends_with(end) && place.starts_with("http")) return place;
  }
  return {};
}

std::string mcp_url(const PeerBackend& backend) { return place_of(backend, "/mcp"); }

void write_key(rpc::JsonWriter& json, bool with_key) {
  if (!with_key) return;
  json.begin_object("headers");
  json.text("Authorization", kKey);
  json.end_object();
}

// { "mcpServers": { NAME: { "type": "http", "url": … } } }, as `member` and `type` have it.
std::string settings(std::string_view member, std::string_view type, const Backends& backends,
                     bool with_key) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  json.begin_object(member);
  for (const PeerBackend& backend : backends) {
    if (mcp_url(backend).empty()) continue;
    json.begin_object(backend.name);
    if (!type.empty()) json.text("type", type);
    json.text("url", mcp_url(backend));
    write_key(json, with_key);
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return json.take() + "\n";
}

std::string for_cursor(const Backends& backends, bool with_key) {
  return settings("mcpServers", {}, backends, with_key);
}

std::string for_vscode(const Backends& backends, bool with_key) {
  return settings("servers", "http", backends, with_key);
}

// Its file knows commands only, so one that speaks HTTP for it.
std::string for_claude_desktop(const Backends& backends, bool with_key) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  json.begin_object("mcpServers");
  for (const PeerBackend& backend : backends) {
    const std::string url = mcp_url(backend);
    if (url.empty()) continue;
    json.begin_object(backend.name);
    json.text("command", "npx");
    json.begin_array("args");
    std::vector<std::string> words{"-y", "mcp-remote", url};
    if (url.starts_with("http://") && url.find("://localhost") == std::string::npos &&
        url.find("://127.") == std::string::npos) {
      words.emplace_back("--allow-http");
    }
    if (with_key) {
      words.emplace_back("--header");
      words.push_back("Authorization:" + std::string(kKey));
    }
    for (const std::string& word : words) json.text({}, word);
    json.end_array();
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return json.take() + "\n";
}

std::string for_claude_code(const Backends& backends, bool with_key) {
  std::string text;
  for (const PeerBackend& backend : backends) {
    const std::string url = mcp_url(backend);
    if (url.empty()) continue;
    text.append("claude mcp add --transport http ").append(backend.name).append(" ").append(url);
    if (with_key) text.append(" --header \"Authorization: ").append(kKey).append("\"");
    text += '\n';
  }
  return text;
}

std::string for_curl(const Backends& backends, bool with_key) {
  std::string text;
  for (const PeerBackend& backend : backends) {
    const std::string url = place_of(backend, "/rpc");
    if (url.empty()) continue;
    const bool is_mcp = backend.protocol == "mcp";
    text += "curl --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"";
    text.append(is_mcp ? "tools/list" : "METHOD").append("\"}'");
    if (with_key) text.append(" --header 'Authorization: ").append(kKey).append("'");
    text.append(" ").append(url) += '\n';
  }
  return text;
}

std::string npm_block(const std::string& url, bool with_key) {
  std::string options;
  if (with_key) {
    options =
        ",\n    { requestInit: { headers: { Authorization: \"" + std::string(kKey) + "\" } } }";
  }
  return "\n{\n  const client = new Client({ name: \"example\", version: \"1.0.0\" });\n"
         "  await client.connect(new StreamableHTTPClientTransport(\n    new URL(\"" +
         url + "\")" + options +
         "));\n  console.log(await client.listTools());\n  await client.close();\n}\n";
}

// With the official TypeScript SDK.
std::string for_npm(const Backends& backends, bool with_key) {
  std::string text =
      "// npm install @modelcontextprotocol/sdk\n"
      "import { Client } from \"@modelcontextprotocol/sdk/client/index.js\";\n"
      "import { StreamableHTTPClientTransport } from\n"
      "  \"@modelcontextprotocol/sdk/client/streamableHttp.js\";\n";
  for (const PeerBackend& backend : backends) {
    const std::string url = mcp_url(backend);
    if (!url.empty()) text += npm_block(url, with_key);
  }
  return text;
}

struct SnippetClient {
  std::string_view name;
  std::string_view where;  // it belongs
  std::string (*make)(const Backends& backends, bool with_key);
};

constexpr std::array kClients{
    SnippetClient{"claude-code", "run in a shell", for_claude_code},
    SnippetClient{"claude-desktop", "claude_desktop_config.json", for_claude_desktop},
    SnippetClient{"cursor", ".cursor/mcp.json", for_cursor},
    SnippetClient{"vscode", ".vscode/mcp.json", for_vscode},
    SnippetClient{"curl", "run in a shell", for_curl},
    SnippetClient{"npm", "a module (.mjs)", for_npm},
};

const SnippetClient* find_client(std::string_view name) {
  const auto found =
      std::find_if(kClients.begin(), kClients.end(),
                   [name](const SnippetClient& client) { return client.name == name; });
  return found == kClients.end() ? nullptr : found;
}

ToolOutput run(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (arguments.words.empty() || arguments.words.size() > 2) {
    return tool_error(kBadUsage, "snippet: expected CLIENT, and perhaps one BACKEND");
  }
  const SnippetClient* const client = find_client(arguments.words[0]);
  if (client == nullptr) {
    std::string names;
    for (const std::string_view name : snippet_clients()) names.append(" ").append(name);
    return tool_error(kBadUsage,
                      "snippet: unknown client '" + arguments.words[0] + "'; there are:" + names);
  }
  const auto peer = open_peer(arguments, surroundings);
  if (!peer) return tool_error(peer.error().exit_code, peer.error().message);
  auto backends = (*peer)->backends();
  if (!backends) return tool_error(backends.error().exit_code, backends.error().message);
  if (arguments.words.size() == 2) {
    std::erase_if(*backends, [&arguments](const PeerBackend& backend) {
      return backend.name != arguments.words[1];
    });
    if (backends->empty()) {
      return tool_error(kFailed, "no backend '" + arguments.words[1] + "'; stdgate ls lists them");
    }
  }
  ToolOutput output;
  output.out = client->make(*backends, arguments.has(kKeyOption.name));
  output.err = "stdgate: for " + std::string(client->where) + "\n";
  if (!surroundings.is_terminal) output.err.clear();
  if ((*peer)->is_on_unix_socket() && output.out.find(kNoAddress) != std::string::npos) {
    output.err +=
        "stdgate: warning: at a Unix socket no client has a URL; auth.public_url says where\n"
        "  clients reach the gateway, or --url names an address of it\n";
  }
  return output;
}

constexpr std::string_view kUsage =
    "  stdgate snippet [options] CLIENT [BACKEND]\n"
    "\n"
    "Clients: claude-code, claude-desktop, cursor, vscode, curl, npm.\n";
constexpr std::string_view kAbout =
    "Prints what to paste into a client for it to reach the backends of a running\n"
    "gateway. With --api-key-file the place of the key is marked; the key itself is\n"
    "not printed.\n"
    "\n"
    "Exit code: 0, 1 no such backend, 2 usage, 3 no gateway there.\n";
constexpr std::array kOptions{kUrlOption,  kConfigOption,  kKeyOption,    kCaOption,
                              kCertOption, kCertKeyOption, kTimeoutOption};

}  // namespace

std::vector<std::string_view> snippet_clients() {
  std::vector<std::string_view> names;
  names.reserve(kClients.size());
  for (const SnippetClient& client : kClients) names.push_back(client.name);
  return names;
}

std::string snippet_for(std::string_view client, const Backends& backends, bool with_key) {
  const SnippetClient* const found = find_client(client);
  return found == nullptr ? std::string() : found->make(backends, with_key);
}

const Tool kSnippetTool{"snippet", kUsage, kAbout, kOptions, false, run};

}  // namespace stdgate::tools
