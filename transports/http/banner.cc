#include "transports/http/banner.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <variant>

#include "transports/http/router.h"

namespace stdgate::http {

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
