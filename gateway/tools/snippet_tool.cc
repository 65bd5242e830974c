#include "gateway/tools/snippet_tool.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/app/client_snippets.h"
#include "gateway/tools/peer.h"

namespace stdgate::tools {

namespace {

constexpr std::string_view kNoAddress = "http://localhost/";  // how a Unix socket is asked

ToolOutput print_snippets(const ToolArguments& arguments, const ToolSurroundings& surroundings) {
  if (arguments.words.empty() || arguments.words.size() > 2) {
    return tool_error(kBadUsage, "snippet: expected CLIENT, and perhaps one BACKEND");
  }
  const std::vector<std::string_view> clients = app::snippet_clients();
  if (std::ranges::find(clients, arguments.words[0]) == clients.end()) {
    std::string names;
    for (const std::string_view name : clients) names.append(" ").append(name);
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
  app::Snippet snippet =
      app::snippet_for(arguments.words[0], *backends, arguments.has(kKeyOption.name)).value();
  output.out = std::move(snippet.text);
  output.err = "stdgate: for " + std::string(snippet.where) + "\n";
  if (!surroundings.is_terminal) output.err.clear();
  if ((*peer)->is_on_unix_socket() && output.out.find(kNoAddress) != std::string::npos) {
    output.err +=
        "stdgate: warning: at a Unix socket no client has a URL; auth.public_url says where\n"
        "  clients reach the gateway, or --url names an address of it\n";
  }
  return output;
}

constexpr std::string_view kSnippetUsage =
    "  stdgate snippet [options] CLIENT [BACKEND]\n"
    "\n"
    "Clients: claude-code, claude-desktop, cursor, vscode, codex, gemini, zed, curl,\n"
    "npm.\n";
constexpr std::string_view kSnippetAbout =
    "Prints what to paste into a client for it to reach the backends of a running\n"
    "gateway. With --api-key-file the place of the key is marked; the key itself is\n"
    "not printed.\n"
    "\n"
    "Exit code: 0, 1 no such backend, 2 usage, 3 no gateway there.\n";
constexpr std::array kSnippetOptions{kUrlOption,  kConfigOption,  kKeyOption,    kCaOption,
                                     kCertOption, kCertKeyOption, kTimeoutOption};

}  // namespace

const Tool kSnippetTool{"snippet",       kSnippetUsage, kSnippetAbout,
                        kSnippetOptions, false,         print_snippets};

}  // namespace stdgate::tools
