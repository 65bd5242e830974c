#include "transports/http/router.h"

#include <algorithm>

namespace stdgate {

namespace {

class IndexEndpoint final : public Endpoint {
 public:
  explicit IndexEndpoint(std::string text) : text_(std::move(text)) {}

  std::optional<HttpError> admit(Exchange& /*exchange*/) override { return std::nullopt; }
  void serve(Exchange& exchange, std::span<char> /*body*/) override {
    const std::string_view body = text_;
    exchange.client->respond({.content_type = "text/plain; charset=utf-8", .body = {&body, 1}});
  }

 private:
  const std::string text_;
};

}  // namespace

void Endpoint::refuse(Exchange& exchange, Fault /*fault*/) {
  exchange.client->fail({400, "no body is expected here"});
}

void Router::add(std::string path, std::string about, std::unique_ptr<Endpoint> endpoint) {
  const auto place = std::lower_bound(
      entries_.begin(), entries_.end(), path,
      [](const Entry& entry, const std::string& wanted) { return entry.path < wanted; });
  entries_.insert(place, Entry{std::move(path), std::move(about), std::move(endpoint)});
  paths_member_ = R"("paths":[)";
  for (const Entry& entry : entries_) {
    if (paths_member_.back() != '[') paths_member_ += ',';
    paths_member_ += '"';
    paths_member_ += entry.path;
    paths_member_ += '"';
  }
  paths_member_ += ']';
}

void Router::add_index(std::string_view title) {
  size_t width = 0;
  for (const Entry& entry : entries_) {
    width = std::max(width, methods_of(entry.endpoint->access()).size());
  }
  std::string text(title);
  text += "\n\n";
  for (const Entry& entry : entries_) {
    const std::string_view methods = methods_of(entry.endpoint->access());
    text += methods;
    text.append(width + 1 - methods.size(), ' ');
    text += entry.path;
    text += "  ";
    text += entry.about;
    text += '\n';
  }
  add("/", "this list", std::make_unique<IndexEndpoint>(std::move(text)));
}

Endpoint* Router::find(std::string_view path) const {
  const auto place = std::lower_bound(
      entries_.begin(), entries_.end(), path,
      [](const Entry& entry, std::string_view wanted) { return entry.path < wanted; });
  return place != entries_.end() && place->path == path ? place->endpoint.get() : nullptr;
}

}  // namespace stdgate
