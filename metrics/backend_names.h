// BackendNames: the names of backends by their ids, for observers that write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/observer.h"

namespace stdgate {

class BackendNames {
 public:
  void add(BackendId backend, std::string_view name) {
    if (names_.size() <= backend) names_.resize(backend + size_t{1});
    names_[backend] = name;
  }
  // Empty for an id that was never added.
  [[nodiscard]] std::string_view of(BackendId backend) const {
    return backend < names_.size() ? std::string_view(names_[backend]) : std::string_view();
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace stdgate
