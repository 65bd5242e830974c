#include "transports/http/landing_page.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "gateway/config/value_names.h"
#include "gateway/rpc/json_text.h"
#include "transports/http/field_value.h"
#include "transports/http/router.h"

namespace stdgate::http {

namespace {

constexpr size_t kMethodWidth = 6;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view(".-_:[]").find(c) != std::string_view::npos;
}

bool is_plain(std::string_view authority) {
  return !authority.empty() &&
         std::all_of(authority.begin(), authority.end(), [](char c) { return is_plain(c); });
}

bool is_plain_url(std::string_view url) {
  return !url.empty() && std::ranges::all_of(url, [](char c) { return is_plain(c) || c == '/'; });
}

// Where clients find the gateway: at its public URL if that is known, else where the page has been
// asked for.
class Site {
 public:
  Site(std::string_view authority, bool is_secure, std::string_view public_url) {
    const std::string_view host = is_plain(authority) ? authority : "localhost";
    http_.append(scheme_of(is_secure, false)).append(host);
    websocket_.append(scheme_of(is_secure, true)).append(host);
    if (!is_plain_url(public_url)) return;
    http_ = public_url;
    websocket_ = "ws";
    websocket_ += public_url.substr(std::string_view("http").size());
  }

  [[nodiscard]] const std::string& url(bool is_websocket) const {
    return is_websocket ? websocket_ : http_;
  }

 private:
  std::string http_;
  std::string websocket_;
};

std::string url_of(const Site& site, const backend::Upstream& backend, const ServedPath& served) {
  return site.url(served.is_websocket) + prefix_of(backend) + std::string(served.path);
}

void append_line(std::string& out, std::string_view text) { out.append("  ").append(text) += '\n'; }

// Lines to paste into the settings of an MCP client and into a shell.
void append_snippets(std::string& out, const backend::Upstream& backend, const Site& site,
                     const std::string& prefix) {
  const std::string http = site.url(false) + prefix;
  const std::string websocket = site.url(true) + prefix + "/ws";
  switch (backend.protocol()) {
    case config::Protocol::mcp:
      append_line(out, R"({ "mcpServers": { ")" + backend.name() +
                           R"(": { "type": "http", "url": ")" + http + R"(/mcp" } } })");
      append_line(
          out, R"(curl --json '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' )" + http + "/rpc");
      break;
    case config::Protocol::jsonrpc:
      append_line(out, R"(curl --json '{"jsonrpc":"2.0","id":1,"method":"METHOD","params":[]}' )" +
                           http + "/rpc");
      append_line(out, "npx -y wscat -c " + websocket);
      break;
    case config::Protocol::acp:
      append_line(out, "npx -y wscat -c " + site.url(true) + prefix + "/acp");
      break;
    default:
      append_line(out, "npx -y wscat -c " + websocket);
      break;
  }
}

class LandingPage final : public Endpoint {
 public:
  LandingPage(const backend::Upstreams& backends, std::string title, const AdmissionPolicy& policy)
      : backends_(backends), title_(std::move(title)), policy_(policy) {}

  std::optional<HttpError> admit(Exchange& /*exchange*/) override { return std::nullopt; }
  void serve(Exchange& exchange, std::span<char> /*body*/) override {
    const bool is_json = Acceptance::of(exchange.head).json.value_or(0) > 0;
    const auto page = is_json ? landing_json : landing_page;
    const std::string text = page(title_, backends_, exchange.head.authority(),
                                  exchange.traits.is_secure, policy_.authentication().public_url());
    exchange.respond({.content_type = is_json ? "application/json" : "text/plain; charset=utf-8",
                      .more_fields = "Vary: Accept\r\n"},
                     text);
  }

 private:
  const backend::Upstreams& backends_;
  const std::string title_;
  const AdmissionPolicy& policy_;
};

}  // namespace

std::string landing_page(std::string_view title, const backend::Upstreams& backends,
                         std::string_view authority, bool is_secure, std::string_view public_url) {
  const Site site(authority, is_secure, public_url);
  std::string text(title);
  text += '\n';
  for (const auto& backend : backends.all()) {
    const std::string prefix = prefix_of(*backend);
    text += '\n';
    text += backend->name();
    text += '\n';
    for (const ServedPath& served : served_paths(backend->protocol())) {
      std::string line(served.method);
      line.resize(std::max(line.size(), kMethodWidth), ' ');
      line.append(site.url(served.is_websocket)).append(prefix);
      line.append(served.path).append("  ").append(served.about);
      append_line(text, line);
    }
    text += '\n';
    append_snippets(text, *backend, site, prefix);
  }
  return text;
}

std::string landing_json(std::string_view title, const backend::Upstreams& backends,
                         std::string_view authority, bool is_secure, std::string_view public_url) {
  const Site site(authority, is_secure, public_url);
  rpc::JsonWriter json(rpc::JsonWriter::Layout::compact);
  json.begin_object();
  json.text("server", title);
  json.begin_array("backends");
  for (const auto& backend : backends.all()) {
    json.begin_object();
    json.text("name", backend->name());
    json.text("protocol", config::name_of(backend->protocol()));
    json.boolean("default", backend->is_default());
    if (const auto members = backend->members(); !members.empty()) {
      json.begin_array("members");
      for (const std::string& member : members) json.text({}, member);
      json.end_array();
    }
    json.begin_array("paths");
    for (const ServedPath& served : served_paths(backend->protocol())) {
      json.begin_object();
      json.text("name", served.name);
      json.text("method", served.method);
      json.text("url", url_of(site, *backend, served));
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

std::vector<std::string> landing_urls(const backend::Upstream& backend, std::string_view authority,
                                      bool is_secure, std::string_view public_url) {
  const Site site(authority, is_secure, public_url);
  std::vector<std::string> urls;
  for (const ServedPath& served : served_paths(backend.protocol())) {
    urls.push_back(url_of(site, backend, served));
  }
  return urls;
}

void add_landing_page(Router& router, const backend::Upstreams& backends, std::string title) {
  router.add("/", "this page",
             std::make_unique<LandingPage>(backends, std::move(title), router.policy()),
             Guards::reading());
}

namespace {

constexpr size_t kNameWidth = 12;
constexpr size_t kMethodColumn = 4;
constexpr std::string_view kAdminPaths[] = {"/metrics", "/healthz", "/readyz", "/debug/state", "/"};

bool is_tcp(const Address& address) { return address.kind == Address::Kind::tcp; }

// Where the listener takes connections to every address of the machine.
bool is_any(const Address& address) {
  return is_tcp(address) && (address.host == "0.0.0.0" || address.host == "::");
}

// An address to connect to: 0.0.0.0 and :: are only for listening.
Address reachable(Address address) {
  if (is_any(address)) address.host = address.host == "::" ? "::1" : "127.0.0.1";
  return address;
}

// Nothing can be pasted for a Unix socket but the path on it (curl --unix-socket).
std::string url_of(const BoundAddress& bound, std::string_view path, bool is_websocket = false) {
  std::string url;
  if (is_tcp(bound.address)) {
    url = scheme_of(bound.is_secure, is_websocket);
    url += reachable(bound.address).to_string();
  }
  return url += path;
}

std::string url_of(const BoundAddress& bound, const backend::Upstream& backend,
                   const ServedPath& served) {
  return url_of(bound, prefix_of(backend) + std::string(served.path), served.is_websocket);
}

void append_column(std::string& out, std::string_view text, size_t width) {
  out += text;
  out.append(width - std::min(width, text.size()) + 1, ' ');
}

void append_line(std::string& out, std::string_view name, std::string_view method,
                 std::string_view url) {
  out += "  ";
  append_column(out, name, kNameWidth);
  append_column(out, method, kMethodColumn);
  out += url;
  out += '\n';
}

// Labels that readers look for: MCP clients' documentation speaks of MCP and SSE.
std::string_view label_of(const ServedPath& served) {
  return served.name == "mcp" ? "MCP" : served.name == "sse" ? "SSE" : served.method;
}

using FieldValue = decltype(LogField::value);

}  // namespace

std::string url_of(const BoundAddress& bound) {
  std::string url(is_tcp(bound.address) ? scheme_of(bound.is_secure, false) : "");
  return url += bound.address.to_string();
}

std::string authority_of(const BoundAddress& bound) {
  return is_tcp(bound.address) ? reachable(bound.address).to_string() : "localhost";
}

std::string banner_text(const Listening& listening, const backend::Upstreams& backends) {
  std::string text;
  for (const BoundAddress& bound : listening.clients) {
    text += "listening on " + url_of(bound);
    text += is_any(bound.address) ? " (every address of this machine)\n" : "\n";
    for (const auto& backend : backends.all()) {
      std::string_view name = backend->name();
      for (const ServedPath& served : served_paths(backend->protocol())) {
        if (served.name == "stream") continue;  // another way to the same as /rpc
        append_line(text, name, label_of(served), url_of(bound, *backend, served));
        name = {};
      }
    }
  }
  for (const BoundAddress& bound : listening.admin) {
    text += "admin on " + url_of(bound);
    text += is_any(bound.address) ? " (every address of this machine)\n" : "\n";
    for (const std::string_view path : kAdminPaths) {
      append_line(text, path == "/" ? "page" : path.substr(1), "GET", url_of(bound, path));
    }
  }
  return text;
}

void log_banner(Log& log, const Listening& listening, const backend::Upstreams& backends) {
  for (const BoundAddress& bound : listening.clients) {
    const std::string base = url_of(bound);
    for (const auto& backend : backends.all()) {
      std::map<std::string_view, std::string> urls;
      for (const ServedPath& served : served_paths(backend->protocol())) {
        urls[served.name] = url_of(bound, *backend, served);
      }
      const auto url = [&urls](std::string_view name) {
        const auto found = urls.find(name);
        return found == urls.end() ? FieldValue() : FieldValue(std::string_view(found->second));
      };
      log.write(LogLevel::info, "listening",
                {{"address", std::string_view(base)},
                 {"backend", std::string_view(backend->name())},
                 {"mcp", url("mcp")},
                 {"sse", url("sse")},
                 {"rpc", url("rpc")},
                 {"stream", url("stream")},
                 {"websocket", url("websocket")}});
    }
  }
  for (const BoundAddress& bound : listening.admin) {
    const std::string base = url_of(bound);
    std::array<std::string, std::size(kAdminPaths)> urls;
    for (size_t i = 0; i < urls.size(); ++i) urls[i] = url_of(bound, kAdminPaths[i]);
    log.write(LogLevel::info, "listening",
              {{"address", std::string_view(base)},
               {"admin", true},
               {"metrics", std::string_view(urls[0])},
               {"healthz", std::string_view(urls[1])},
               {"readyz", std::string_view(urls[2])},
               {"state", std::string_view(urls[3])},
               {"page", std::string_view(urls[4])}});
  }
}

}  // namespace stdgate::http
