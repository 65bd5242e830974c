// Router: which endpoint serves a path, which path a client probably meant, and the paths
// of backends.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/backend/upstream.h"
#include "transports/http/admission.h"
#include "transports/http/endpoint.h"

namespace stdgate::http {

// Which of the served paths a client probably meant that asked for another one. Pure.
struct PathHints {
  std::string_view meant;               // the one that was probably meant; empty: none is near
  std::vector<std::string_view> paths;  // all, the nearest first, else in their order
  std::string why;                      // there is nothing at `wanted`, a clause; empty: not known
};

// A path is near to `wanted` if it belongs to the same backend, or to one whose name is near, or if
// it is the end of `wanted`: behind a version, or where there is but one backend. Case does not
// matter. Costs up to 64 * 64 steps for each name of a backend.
PathHints path_hints(std::string_view wanted, std::vector<std::string_view> paths);

struct Route {
  std::string path;
  std::string about;
  std::shared_ptr<Endpoint> endpoint;
  Guards guards;
};

// Router: which endpoint serves a path, and what guards it.
// Owner: the generation, and for the admin pages the process. Complete before the first request;
// between two requests it may be made again. Paths are few and found by binary search, without an
// allocation.
class Router {
 public:
  // `policy` outlives the router.
  explicit Router(const AdmissionPolicy& policy) : policy_(policy) {}

  // `about` is a line for the index of GET /. With a '/' at its end, `path` covers every path that
  // is one segment longer and has no route of its own.
  void add(std::string path, std::string about, std::shared_ptr<Endpoint> endpoint,
           const Guards& guards = {});
  // Takes out all routes but the leaving ones, and returns their endpoints. Requests under way use
  // the endpoints on.
  std::vector<std::shared_ptr<Endpoint>> clear();
  // Makes the routes of `others` leaving ones: from now on they serve only work that was begun at
  // their paths, unless another route has the path, and no list shows them. Returns the endpoints
  // of the former leaving routes.
  std::vector<std::shared_ptr<Endpoint>> replace_leaving(Router& others);
  // Serves the index of what has been added, at "/".
  void add_index(std::string_view title);
  // A line for each path.
  [[nodiscard]] std::string index_text(std::string_view title) const;

  // Lets pages that may call read the answers, those to unknown paths included (origin_rules.h).
  // Else pages of other origins read nothing.
  void share_answers() { shares_answers_ = true; }
  [[nodiscard]] bool shares_answers() const { return shares_answers_; }
  [[nodiscard]] const AdmissionPolicy& policy() const { return policy_; }

  // `path` is decoded; with one slash at its end it means the same. Null: nothing there.
  [[nodiscard]] const Route* find(std::string_view path) const { return find(routes_, path); }
  // Like find(), but among the leaving routes.
  [[nodiscard]] const Route* leaving(std::string_view path) const { return find(leaving_, path); }
  // The paths whose endpoints have this transport.
  [[nodiscard]] std::vector<std::string> paths_of(Transport transport) const;
  // The paths that are served, paths near to `asked` first. Paths for operators are included only
  // if `viewer` is an operator.
  [[nodiscard]] PathHints hints(std::string_view asked, Audience viewer) const;
  // The pages of the admin address are not here but at `address`.
  void set_admin(std::string address) { admin_ = std::move(address); }
  // Where `asked` is served, if it is such a page; a clause, empty for others. Only operators are
  // told the address itself.
  [[nodiscard]] std::string admin_hint(std::string_view asked, Audience viewer) const;
  // "; POST JSON-RPC to /mcp or /rpc", for a POST to another path: at most kMaxHintPaths paths, the
  // nearest first, then those at the root. Empty if no path takes calls.
  [[nodiscard]] std::string post_hint(std::string_view asked) const;
  static constexpr size_t kMaxHintPaths = 8;

 private:
  static const Route* find(const std::vector<Route>& routes, std::string_view path);
  static const Route* find_exact(const std::vector<Route>& routes, std::string_view path);

  const AdmissionPolicy& policy_;
  std::vector<Route> routes_;   // by path
  std::vector<Route> leaving_;  // by path
  std::string admin_;           // empty: none, or this is it
  bool shares_answers_ = false;
};

// --- Where backends are served: each under its name, the default one at the root too; and what a
// client finds there

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
