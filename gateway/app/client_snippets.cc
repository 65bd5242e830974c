#include "gateway/app/client_snippets.h"

#include <algorithm>
#include <array>
#include <set>

#include "gateway/rpc/json_text.h"

namespace stdgate::app {

namespace {

constexpr std::string_view kMcpPath = "/mcp";
constexpr std::string_view kRpcPath = "/rpc";
constexpr std::string_view kAcpPath = "/acp";
constexpr std::string_view kKey = "Bearer YOUR_API_KEY";

using Backends = std::vector<ServedBackend>;

// The place whose URL has this end; empty: none has.
std::string place_of(const ServedBackend& backend, std::string_view end) {
  for (const std::string& place : backend.places) {
    const bool is_url = place.starts_with("http") || (end == kAcpPath && place.starts_with("ws"));
    if (place.ends_with(end) && is_url) return place;
  }
  return {};
}

std::string mcp_url(const ServedBackend& backend) { return place_of(backend, kMcpPath); }

void write_key(rpc::JsonWriter& json, bool with_key) {
  if (!with_key) return;
  json.begin_object("headers");
  json.text("Authorization", kKey);
  json.end_object();
}

// Of a program that a client starts, and that takes headers so.
void write_args(rpc::JsonWriter& json, std::vector<std::string> words, bool with_key) {
  if (with_key) {
    words.emplace_back("--header");
    words.push_back("Authorization:" + std::string(kKey));
  }
  json.begin_array("args");
  for (const std::string& word : words) json.text({}, word);
  json.end_array();
}

// { "mcpServers": { NAME: { "type": "http", "url": … } } }, as `member` and `type` have it.
std::string settings(std::string_view member, std::string_view type, const Backends& backends,
                     bool with_key, std::string_view url = "url") {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  json.begin_object(member);
  for (const ServedBackend& backend : backends) {
    if (mcp_url(backend).empty()) continue;
    json.begin_object(backend.name);
    if (!type.empty()) json.text("type", type);
    json.text(url, mcp_url(backend));
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

// { "httpUrl": … }: `url` would mean the older transport to it.
std::string for_gemini(const Backends& backends, bool with_key) {
  return settings("mcpServers", {}, backends, with_key, "httpUrl");
}

bool has_place(const Backends& backends, std::string_view end) {
  return std::ranges::any_of(
      backends, [end](const ServedBackend& backend) { return !place_of(backend, end).empty(); });
}

// It starts its agents, so a program that is one by being connected to it.
std::string agents_for_zed(const Backends& backends, bool with_key) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  json.begin_object("agent_servers");
  for (const ServedBackend& backend : backends) {
    std::string url = place_of(backend, kAcpPath);
    if (url.empty()) continue;
    if (url.starts_with("ws")) url = "http" + url.substr(2);
    json.begin_object(backend.name);
    json.text("type", "custom");
    json.text("command", "stdgate");
    std::vector<std::string> words{"connect", url};
    write_args(json, std::move(words), with_key);
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return json.take() + "\n";
}

std::string for_zed(const Backends& backends, bool with_key) {
  std::string text;
  if (has_place(backends, kMcpPath) || !has_place(backends, kAcpPath)) {
    text += settings("context_servers", {}, backends, with_key);
  }
  if (has_place(backends, kAcpPath)) text += agents_for_zed(backends, with_key);
  return text;
}

// In TOML; the key comes from the environment, as Codex takes none that is written down.
std::string for_codex(const Backends& backends, bool with_key) {
  std::string text = with_key ? "# export STDGATE_API_KEY=YOUR_API_KEY\n" : "";
  for (const ServedBackend& backend : backends) {
    const std::string url = mcp_url(backend);
    if (url.empty()) continue;
    text.append(text.empty() ? "" : "\n")
        .append("[mcp_servers.")
        .append(backend.name)
        .append("]\n");
    text.append("url = \"").append(url).append("\"\n");
    if (with_key) text += "bearer_token_env_var = \"STDGATE_API_KEY\"\n";
  }
  return text;
}

std::string for_vscode(const Backends& backends, bool with_key) {
  return settings("servers", "http", backends, with_key);
}

// The file of Claude Desktop knows only commands, so it gets a command that connects by HTTP.
std::string for_claude_desktop(const Backends& backends, bool with_key) {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  json.begin_object("mcpServers");
  for (const ServedBackend& backend : backends) {
    const std::string url = mcp_url(backend);
    if (url.empty()) continue;
    json.begin_object(backend.name);
    json.text("command", "npx");
    std::vector<std::string> words{"-y", "mcp-remote", url};
    if (url.starts_with("http://") && url.find("://localhost") == std::string::npos &&
        url.find("://127.") == std::string::npos) {
      words.emplace_back("--allow-http");
    }
    write_args(json, std::move(words), with_key);
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return json.take() + "\n";
}

std::string for_claude_code(const Backends& backends, bool with_key) {
  std::string text;
  for (const ServedBackend& backend : backends) {
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
  for (const ServedBackend& backend : backends) {
    const std::string url = place_of(backend, kRpcPath);
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

// A program that uses the official TypeScript SDK.
std::string for_npm(const Backends& backends, bool with_key) {
  std::string text =
      "// npm install @modelcontextprotocol/sdk\n"
      "import { Client } from \"@modelcontextprotocol/sdk/client/index.js\";\n"
      "import { StreamableHTTPClientTransport } from\n"
      "  \"@modelcontextprotocol/sdk/client/streamableHttp.js\";\n";
  for (const ServedBackend& backend : backends) {
    const std::string url = mcp_url(backend);
    if (!url.empty()) text += npm_block(url, with_key);
  }
  return text;
}

struct SnippetClient {
  std::string_view name;
  std::string_view where;  // it belongs
  std::string_view place;  // what a backend is served at for it
  std::string (*make)(const Backends& backends, bool with_key);
};

constexpr std::array kClients{
    SnippetClient{"claude-code", "run in a shell", kMcpPath, for_claude_code},
    SnippetClient{"claude-desktop", "claude_desktop_config.json", kMcpPath, for_claude_desktop},
    SnippetClient{"cursor", ".cursor/mcp.json", kMcpPath, for_cursor},
    SnippetClient{"vscode", ".vscode/mcp.json", kMcpPath, for_vscode},
    SnippetClient{"codex", "~/.codex/config.toml", kMcpPath, for_codex},
    SnippetClient{"gemini", "~/.gemini/settings.json", kMcpPath, for_gemini},
    SnippetClient{"zed", "Zed's settings.json", kMcpPath, for_zed},
    SnippetClient{"curl", "run in a shell", kRpcPath, for_curl},
    SnippetClient{"npm", "a module (.mjs)", kMcpPath, for_npm},
};

const SnippetClient* find_client(std::string_view name) {
  const auto found =
      std::find_if(kClients.begin(), kClients.end(),
                   [name](const SnippetClient& client) { return client.name == name; });
  return found == kClients.end() ? nullptr : found;
}

}  // namespace

std::vector<ServedBackend> without_members(std::vector<ServedBackend> backends) {
  std::set<std::string> members;
  for (const ServedBackend& backend : backends) {
    members.insert(backend.members.begin(), backend.members.end());
  }
  std::erase_if(backends, [&members](const ServedBackend& backend) {
    return members.contains(backend.name);
  });
  return backends;
}

std::vector<std::string_view> snippet_clients() {
  std::vector<std::string_view> names;
  names.reserve(kClients.size());
  for (const SnippetClient& client : kClients) names.push_back(client.name);
  return names;
}

std::optional<Snippet> snippet_for(std::string_view client, const Backends& backends,
                                   bool with_key) {
  const SnippetClient* const found = find_client(client);
  if (found == nullptr) return std::nullopt;
  return Snippet{found->name, found->where, found->make(backends, with_key)};
}

std::vector<Snippet> snippets_for(const Backends& backends, bool with_key) {
  std::vector<Snippet> snippets;
  for (const SnippetClient& client : kClients) {
    const bool is_served = has_place(backends, client.place) ||
                           (client.make == for_zed && has_place(backends, kAcpPath));
    if (!is_served) continue;
    snippets.push_back({client.name, client.where, client.make(backends, with_key)});
  }
  return snippets;
}

}  // namespace stdgate::app
