// Client snippets: texts to paste into a client so that it reaches the backends of a gateway.
//
// Job: make them for `stdgate snippet` and the operator's page. Pure. Limits: no secrets; the place
// of a key is marked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::app {

// The facts about a backend that a client has to know.
struct ServedBackend {
  std::string name;
  std::string protocol;             // "mcp"
  std::vector<std::string> places;  // URLs, or the command
  bool is_default = false;
  std::vector<std::string> members = {};  // of a virtual server: its backends
};

// The virtual servers among them, and the backends that are no member of one: a client that
// connects to a member too has each of its tools twice.
std::vector<ServedBackend> without_members(std::vector<ServedBackend> backends);

// The text for one client, and where a person pastes it.
struct Snippet {
  std::string_view client;  // name of the client on the command line
  std::string_view where;   // the file or dialog where the snippet belongs
  std::string text;
};

std::vector<std::string_view> snippet_clients();

// Nothing: there is no such client. `with_key`: the gateway wants an API key, whose place is
// marked.
std::optional<Snippet> snippet_for(std::string_view client,
                                   const std::vector<ServedBackend>& backends, bool with_key);
// The snippets of all clients for which at least one backend can be used.
std::vector<Snippet> snippets_for(const std::vector<ServedBackend>& backends, bool with_key);

}  // namespace stdgate::app
