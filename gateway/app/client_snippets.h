// Client snippets: what to paste into a client for it to reach the backends of a gateway.
//
// Job: for `stdgate snippet` and the operator's page. Pure. Limits: secrets are not in them; the
// place of a key is marked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::app {

// A backend as a client has to know it.
struct ServedBackend {
  std::string name;
  std::string protocol;             // "mcp"
  std::vector<std::string> places;  // URLs, or the command
};

struct Snippet {
  std::string_view client;  // as it is named on the command line
  std::string_view where;   // it belongs
  std::string text;
};

std::vector<std::string_view> snippet_clients();

// Nothing: no such client. `with_key`: the gateway wants an API key, whose place is marked.
std::optional<Snippet> snippet_for(std::string_view client,
                                   const std::vector<ServedBackend>& backends, bool with_key);
// The snippets of all clients that one of the backends serves.
std::vector<Snippet> snippets_for(const std::vector<ServedBackend>& backends, bool with_key);

}  // namespace stdgate::app
