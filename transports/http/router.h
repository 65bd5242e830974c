// Router: which endpoint serves a path.
// Owner: the composition root; complete before the first request. Paths are few and found by
// binary search, without an allocation.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transports/http/endpoint.h"
#include "transports/http/origin_rules.h"

namespace stdgate {

class Router {
 public:
  // `about` is a line for the index of GET /.
  void add(std::string path, std::string about, std::unique_ptr<Endpoint> endpoint);
  // Serves the index of what has been added, at "/".
  void add_index(std::string_view title);

  // Lets pages that may call read the answers, those to unknown paths included (cors.h). `rules`
  // outlive the router.
  void share_with(const OriginRules& rules) { shared_with_ = &rules; }
  // Null: pages of other origins read nothing.
  [[nodiscard]] const OriginRules* shared_with() const { return shared_with_; }

  // `path` is decoded. Null: nothing there.
  [[nodiscard]] Endpoint* find(std::string_view path) const;
  // "paths":["/rpc",…], for the answer to an unknown path.
  [[nodiscard]] std::string_view paths_member() const { return paths_member_; }

 private:
  struct Entry {
    std::string path;
    std::string about;
    std::unique_ptr<Endpoint> endpoint;
  };
  std::vector<Entry> entries_;  // by path
  const OriginRules* shared_with_ = nullptr;
  std::string paths_member_ = R"("paths":[])";
};

}  // namespace stdgate
