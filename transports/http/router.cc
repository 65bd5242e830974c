#include "transports/http/router.h"

#include <algorithm>
#include <array>

#include "gateway/base/text.h"
#include "gateway/config/value_names.h"

namespace stdgate::http {

namespace {

struct Entry {
  std::string_view methods;
  std::string_view allow;
};

// By AllowedMethods.
constexpr std::array<Entry, 3> kEntries{{
    {"GET", "GET, HEAD, OPTIONS"},
    {"POST", "POST, OPTIONS"},
    {"GET, POST, DELETE", "GET, POST, DELETE, OPTIONS"},
}};

const Entry& entry_of(AllowedMethods allowed) { return kEntries[static_cast<size_t>(allowed)]; }

}  // namespace

bool is_allowed(Method method, AllowedMethods allowed) {
  switch (method) {
    case Method::get:
      return allowed != AllowedMethods::post;
    case Method::head:
      return allowed == AllowedMethods::read;
    case Method::post:
      return allowed != AllowedMethods::read;
    case Method::del:
      return allowed == AllowedMethods::session;
    case Method::options:
    case Method::other:
      return false;
  }
  return false;
}

std::string_view methods_of(AllowedMethods allowed) { return entry_of(allowed).methods; }

std::string_view allow_value(AllowedMethods allowed) { return entry_of(allowed).allow; }

void Endpoint::refuse(Exchange& exchange, const rpc::FaultReport& /*report*/) {
  exchange.fail({400, "no body is expected here"});
}

namespace {

// Of longer paths the ends are not looked for.
constexpr size_t kMaxLooked = 256;

// "/files/rpc/stream": "files" and "/rpc/stream".
struct Parts {
  std::string_view name;
  std::string_view rest;
};

Parts parts_of(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  const size_t end = std::min(path.find('/'), path.size());
  return {path.substr(0, end), path.substr(end)};
}

// `asked` with the name of a backend that was probably meant; the name is empty if none is near.
Parts meant_by(Parts asked, const std::vector<std::string_view>& names,
               const std::vector<std::string_view>& paths) {
  const auto is_known = [&names](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (is_known(asked.name)) return asked;
  // A backend's name behind a prefix, or with the parts swapped; "rpc" is none.
  const auto is_path = [&paths](std::string_view name) {
    return std::ranges::any_of(paths,
                               [name](std::string_view path) { return path.substr(1) == name; });
  };
  for (Parts next = parts_of(asked.rest); !next.name.empty(); next = parts_of(next.rest)) {
    if (is_known(next.name) && !is_path(next.name))
      return {next.name, next.rest.empty() ? asked.rest : next.rest};
  }
  return {config::nearest_word(asked.name, names).value_or(std::string_view()), asked.rest};
}

bool has(const std::vector<std::string_view>& paths, std::string_view path) {
  return std::ranges::find(paths, path) != paths.end();
}

bool is_version(std::string_view name) {
  return name == "api" || (name.size() >= 2 && name.front() == 'v' &&
                           name.find_first_not_of("0123456789.", 1) == std::string_view::npos);
}

// Whether at most one backend has paths under its name.
bool is_for_one(const std::vector<std::string_view>& paths) {
  std::string_view only;
  for (const std::string_view path : paths) {
    const Parts parts = parts_of(path);
    if (parts.rest.empty() || parts.name.starts_with('.')) continue;
    if (has(paths, path.substr(0, path.size() - parts.rest.size()))) continue;  // "/rpc/stream"
    if (!only.empty() && parts.name != only) return false;
    only = parts.name;
  }
  return true;
}

// The path at the root that `asked` ends with; empty: none.
std::string_view end_of(std::string_view asked, const std::vector<std::string_view>& paths) {
  Parts parts = parts_of(asked);
  if (asked.size() > kMaxLooked) return {};
  if (!is_version(parts.name) && !is_for_one(paths)) return {};
  for (; !parts.rest.empty(); parts = parts_of(parts.rest)) {
    const auto found = std::ranges::find(paths, parts.rest);
    if (found != paths.end() && parts.rest.size() > 1) return *found;
  }
  return {};
}

// The backend serves another protocol than MCP.
std::string why_no_mcp(std::string_view asked, const std::vector<std::string_view>& paths) {
  const size_t end = asked.rfind('/');
  if (end == std::string_view::npos) return {};
  const std::string_view last = asked.substr(end);
  if (last != "/mcp" && last != "/sse") return {};
  const std::string agent = std::string(asked.substr(0, end)) + "/acp";
  if (has(paths, agent)) return "this backend is an agent (protocol: acp), at " + agent;
  const std::string rpc = std::string(asked.substr(0, end)) + "/rpc";
  const std::string socket = std::string(asked.substr(0, end)) + "/ws";
  if (!has(paths, socket)) return {};
  return has(paths, rpc) ? "this backend speaks plain JSON-RPC (protocol: jsonrpc), not MCP, at " +
                               rpc + " and " + socket
                         : "this backend is a language server (protocol: lsp), at " + socket;
}

// The first is `path`, if it is one of them.
void put_first(std::vector<std::string_view>& paths, std::string_view path) {
  std::stable_partition(paths.begin(), paths.end(),
                        [path](std::string_view one) { return one == path; });
}

constexpr ServedPath kMcp{"mcp", "POST", "/mcp", "MCP Streamable HTTP", false};
constexpr ServedPath kSse{"sse", "GET", "/sse", "MCP over HTTP and SSE (2024-11-05)", false};
constexpr ServedPath kRpc{"rpc", "POST", "/rpc", "JSON-RPC 2.0", false};
constexpr ServedPath kStream{"stream", "GET", "/rpc/stream", "a call, answered as an event stream",
                             false};
constexpr ServedPath kWebSocket{"websocket", "GET", "/ws", "JSON-RPC 2.0 over WebSocket", true};

constexpr std::array kOfMcp{kMcp, kSse, kRpc, kStream, kWebSocket};
constexpr std::array kOfJsonRpc{kRpc, kStream, kWebSocket};
constexpr ServedPath kAcp{"acp", "GET", "/acp", "Agent Client Protocol", true};
constexpr ServedPath kAcpHttp{"acp_http", "POST", "/acp",
                              "Agent Client Protocol over Streamable HTTP", false};

constexpr std::array kOfAcp{kAcp, kAcpHttp, kWebSocket};
constexpr std::array kOfOthers{kWebSocket};

}  // namespace

PathHints path_hints(std::string_view wanted, std::vector<std::string_view> paths) {
  const std::string lowered = to_lower_ascii(wanted);  // as names of backends are
  std::string_view asked = lowered;
  if (asked.size() > 1 && asked.ends_with('/')) asked.remove_suffix(1);
  PathHints hints{{}, std::move(paths), {}};
  if (asked.size() > 1 && has(hints.paths, asked)) {
    put_first(hints.paths, asked);
    hints.meant = hints.paths.front();
    return hints;
  }
  hints.why = why_no_mcp(asked, hints.paths);
  std::vector<std::string_view> names;
  for (const std::string_view path : hints.paths) {
    const std::string_view name = parts_of(path).name;
    if (!name.empty() && (names.empty() || names.back() != name)) names.push_back(name);
  }
  const Parts meant = meant_by(parts_of(asked), names, hints.paths);
  if (meant.name.empty()) {
    hints.meant = end_of(asked, hints.paths);
    put_first(hints.paths, hints.meant);
    return hints;
  }
  std::vector<std::string_view> rests;
  for (const std::string_view path : hints.paths) {
    if (const Parts parts = parts_of(path); parts.name == meant.name) rests.push_back(parts.rest);
  }
  const auto rest = config::nearest_word(meant.rest, rests);
  const auto rank = [&](std::string_view path) {
    const Parts parts = parts_of(path);
    if (parts.name != meant.name) return 2;
    return rest && parts.rest == *rest ? 0 : 1;
  };
  std::ranges::stable_sort(hints.paths, {}, rank);
  hints.meant = hints.paths.front();
  return hints;
}

void Router::add(std::string path, std::string about, std::shared_ptr<Endpoint> endpoint,
                 const Guards& guards) {
  const auto place = std::lower_bound(
      routes_.begin(), routes_.end(), path,
      [](const Route& route, const std::string& wanted) { return route.path < wanted; });
  routes_.insert(place, Route{std::move(path), std::move(about), std::move(endpoint), guards});
}

std::vector<std::shared_ptr<Endpoint>> Router::clear() {
  std::vector<std::shared_ptr<Endpoint>> endpoints;
  endpoints.reserve(routes_.size());
  for (Route& route : routes_) endpoints.push_back(std::move(route.endpoint));
  routes_.clear();
  return endpoints;
}

std::vector<std::shared_ptr<Endpoint>> Router::replace_leaving(Router& others) {
  leaving_.swap(others.routes_);
  return others.clear();
}

PathHints Router::hints(std::string_view asked, RouteAudience viewer) const {
  std::vector<std::string_view> paths;
  for (const Route& route : routes_) {
    const bool is_open = route.guards.audience != RouteAudience::operators;
    if (is_open || viewer == RouteAudience::operators) paths.push_back(route.path);
  }
  return path_hints(asked, std::move(paths));
}

std::string Router::admin_hint(std::string_view asked, RouteAudience viewer) const {
  constexpr std::array<std::string_view, 4> kPages = {"/healthz", "/readyz", "/metrics", "/debug"};
  const bool is_page = std::ranges::any_of(kPages, [asked](std::string_view page) {
    return asked == page || (asked.starts_with(page) && asked[page.size()] == '/');
  });
  if (!is_page || admin_.empty()) return {};
  const std::string where = viewer == RouteAudience::operators ? " (" + admin_ + ")" : "";
  return "it is one of the admin pages, at the address of the key admin" + where;
}

std::string Router::post_hint(std::string_view asked) const {
  std::vector<std::string_view> paths;
  for (const Route& route : routes_) {
    const Endpoint& endpoint = *route.endpoint;
    if (is_allowed(Method::post, endpoint.allowed_methods()) && endpoint.takes_messages()) {
      paths.push_back(route.path);
    }
  }
  const auto depth = [](std::string_view path) {
    return std::count(path.begin(), path.end(), '/');
  };
  std::stable_sort(paths.begin(), paths.end(), [&depth](std::string_view a, std::string_view b) {
    return depth(a) < depth(b);
  });
  paths = path_hints(asked, std::move(paths)).paths;
  const bool is_cut = paths.size() > kMaxHintPaths;
  if (is_cut) paths.resize(kMaxHintPaths);
  std::string hint;
  for (size_t i = 0; i < paths.size(); ++i) {
    const bool is_last = i + 1 == paths.size() && !is_cut;
    hint += i == 0 ? "; POST JSON-RPC to " : is_last ? " or " : ", ";
    hint += paths[i];
  }
  if (is_cut) hint += ", ...";
  return hint;
}

std::string Router::index_text(std::string_view title) const {
  size_t width = 0;
  for (const Route& route : routes_) {
    width = std::max(width, methods_of(route.endpoint->allowed_methods()).size());
  }
  std::string text(title);
  text += "\n\n";
  for (const Route& route : routes_) {
    const std::string_view methods = methods_of(route.endpoint->allowed_methods());
    text += methods;
    text.append(width + 1 - methods.size(), ' ');
    text += route.path;
    text += "  ";
    text += route.about;
    text += '\n';
  }
  return text;
}

std::vector<std::string> Router::paths_of(Transport transport) const {
  std::vector<std::string> paths;
  for (const Route& route : routes_) {
    if (route.endpoint->transport() == transport) paths.push_back(route.path);
  }
  return paths;
}

const Route* Router::find(const std::vector<Route>& routes, std::string_view path) {
  if (path.size() > 2 && path.ends_with('/')) path.remove_suffix(1);
  if (const Route* const route = find_exact(routes, path)) return route;
  const std::string_view above = path.substr(0, path.rfind('/') + 1);
  return above.size() > 1 ? find_exact(routes, above) : nullptr;
}

const Route* Router::find_exact(const std::vector<Route>& routes, std::string_view path) {
  const auto place = std::lower_bound(
      routes.begin(), routes.end(), path,
      [](const Route& route, std::string_view wanted) { return route.path < wanted; });
  return place != routes.end() && place->path == path ? &*place : nullptr;
}

std::span<const ServedPath> served_paths(config::Protocol protocol) {
  switch (protocol) {
    case config::Protocol::mcp:
      return kOfMcp;
    case config::Protocol::jsonrpc:
      return kOfJsonRpc;
    case config::Protocol::acp:
      return kOfAcp;
    default:
      return kOfOthers;
  }
}

std::string_view scheme_of(bool is_secure, bool is_websocket) {
  if (is_websocket) return is_secure ? "wss://" : "ws://";
  return is_secure ? "https://" : "http://";
}

std::string prefix_of(const backend::Upstream& backend) {
  return backend.is_default() ? std::string() : "/" + backend.name();
}

}  // namespace stdgate::http
