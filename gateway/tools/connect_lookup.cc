#include "gateway/tools/connect_lookup.h"

#include <simdjson.h>

#include <utility>
#include <vector>

namespace stdgate::tools {

namespace {

struct ListedBackend {
  std::string name;
  std::string protocol;
  std::vector<std::string> paths;
};

std::string path_of(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t path = url.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  return path == std::string_view::npos ? std::string("/") : std::string(url.substr(path));
}

bool read_list(std::string_view text, std::vector<ListedBackend>& backends) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(simdjson::padded_string(text))["backends"].get(list) != simdjson::SUCCESS) {
    return false;
  }
  for (const simdjson::dom::element element : list) {
    std::string_view name;
    std::string_view protocol;
    simdjson::dom::array paths;
    if (element["name"].get(name) != simdjson::SUCCESS ||
        element["protocol"].get(protocol) != simdjson::SUCCESS ||
        element["paths"].get(paths) != simdjson::SUCCESS) {
      continue;
    }
    ListedBackend& backend =
        backends.emplace_back(ListedBackend{std::string(name), std::string(protocol), {}});
    for (const simdjson::dom::element path : paths) {
      std::string_view url;
      if (path["url"].get(url) == simdjson::SUCCESS) backend.paths.push_back(path_of(url));
    }
  }
  return true;
}

// MCP servers and agents over HTTP, all else over WebSocket, which keeps the order of messages.
std::string url_of(const ListedBackend& backend, const std::string& gateway) {
  const std::string_view end = backend.protocol == "mcp"   ? "/mcp"
                               : backend.protocol == "acp" ? kAcpPath
                                                           : "/ws";
  for (const std::string& path : backend.paths) {
    if (path.ends_with(end)) return (end == "/ws" ? "ws" + gateway.substr(4) : gateway) + path;
  }
  return {};
}

}  // namespace

ConnectLookup::ConnectLookup(const ConnectPlan& plan, const remote::RemoteServices& services,
                             std::function<void(Found)> done)
    : plan_(plan),
      done_(std::move(done)),
      stream_(services.web, services.clock, services.timers, *this, kMaxList) {
  std::vector<std::string> fields = services.authorizer.fields();
  fields.emplace_back("Accept: application/json");
  stream_.open({.url = plan.gateway + "/", .fields = std::move(fields), .time = kTime});
}

// A server of MCP's HTTP and SSE at the address itself sends events for as long as they are read.
void ConnectLookup::on_stream_head(const remote::WebHead& head) {
  if (!head.is_success() || !head.has_type("text/event-stream")) return;
  stream_.close();
  done_(guessed());
}

void ConnectLookup::on_stream_end(const remote::WebFailure* failure) {
  if (failure != nullptr) {
    return done_(tl::unexpected(remote::problem_of(*failure, plan_.gateway)));
  }
  done_(find());
}

// The URL to use without the list of backends: of the named backend, or of the gateway.
std::string ConnectLookup::guessed() const {
  if (!plan_.backend.empty()) return plan_.gateway + "/" + plan_.backend + "/mcp";
  return plan_.gateway + "/";
}

ConnectLookup::Found ConnectLookup::find() const {
  using remote::Problem;
  std::vector<ListedBackend> backends;
  const remote::WebHead& head = stream_.head();
  if (head.status == 401 || head.status == 403) {
    return tl::unexpected(remote::problem_of(head, stream_.body(), plan_.gateway));
  }
  if (!head.is_success() || !read_list(stream_.body(), backends)) return guessed();
  std::string names;
  for (const ListedBackend& backend : backends) {
    names += (names.empty() ? "" : ", ") + backend.name;
    if (plan_.backend.empty() ? backends.size() > 1 : backend.name != plan_.backend) continue;
    if (std::string url = url_of(backend, plan_.gateway); !url.empty()) return url;
  }
  const std::string said = plan_.backend.empty() ? "name one of the backends of the gateway"
                                                 : "no backend '" + plan_.backend + "'";
  return tl::unexpected(Problem{remote::Exit::no_server, rpc::Fault::not_found,
                                said + " at " + remote::shown_url(plan_.gateway) + ": it has " +
                                    (names.empty() ? "none" : names)});
}

}  // namespace stdgate::tools
