#include "transports/http/router.h"

#include <algorithm>
#include <array>

namespace stdgate::http {

namespace {

class IndexEndpoint final : public Endpoint {
 public:
  explicit IndexEndpoint(std::string text) : text_(std::move(text)) {}

  std::optional<HttpError> admit(Exchange& /*exchange*/) override { return std::nullopt; }
  void serve(Exchange& exchange, std::span<char> /*body*/) override {
    exchange.respond({.content_type = "text/plain; charset=utf-8"}, text_);
  }

 private:
  const std::string text_;
};

}  // namespace

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

PathHints Router::hints(std::string_view asked, Audience viewer) const {
  std::vector<std::string_view> paths;
  for (const Route& route : routes_) {
    const bool is_open = route.guards.audience != Audience::operators;
    if (is_open || viewer == Audience::operators) paths.push_back(route.path);
  }
  return path_hints(asked, std::move(paths));
}

std::string Router::admin_hint(std::string_view asked, Audience viewer) const {
  constexpr std::array<std::string_view, 4> kPages = {"/healthz", "/readyz", "/metrics", "/debug"};
  const bool is_page = std::ranges::any_of(kPages, [asked](std::string_view page) {
    return asked == page || (asked.starts_with(page) && asked[page.size()] == '/');
  });
  if (!is_page || admin_.empty()) return {};
  const std::string where = viewer == Audience::operators ? " (" + admin_ + ")" : "";
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

void Router::add_index(std::string_view title) {
  add("/", "this list", std::make_unique<IndexEndpoint>(index_text(title)),
      Guards::reading(Audience::operators));
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

}  // namespace stdgate::http
