// Where backends are served: each under its name, the default one at the root too; and what a
// client finds there.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gateway/backend/upstreams.h"

namespace stdgate::http {

// Calls visit(prefix, backend) for each place; `prefix` is "/name", or empty at the root.
template <class Visitor>
void for_each_backend_path(const backend::Upstreams& backends, Visitor&& visit) {
  for (const auto& backend : backends.all()) visit("/" + backend->name(), *backend);
  if (backend::Upstream* backend = backends.default_one(); backend != nullptr) {
    visit(std::string(), *backend);
  }
}

// One of the paths of a backend, as the landing page and the banner show it.
struct ServedPath {
  std::string_view name;    // short and constant: "rpc"
  std::string_view method;  // to begin with: "POST"
  std::string_view path;    // behind the prefix: "/rpc"
  std::string_view about;
  bool is_websocket = false;
};

// The best one first.
std::span<const ServedPath> served_paths(config::Protocol protocol);

// "https://", "wss://" and those without TLS.
std::string_view scheme_of(bool is_secure, bool is_websocket);

// The prefix to advertise: empty for the default backend, else "/name".
std::string prefix_of(const backend::Upstream& backend);

}  // namespace stdgate::http
