// Where backends are served: each under its name, the default one at the root too.
#pragma once

#include <string>

#include "gateway/pool/backend_set.h"

namespace stdgate {

// Calls visit(prefix, backend) for each place; `prefix` is "/name", or empty at the root.
template <class Visitor>
void for_each_backend_path(const BackendSet& backends, Visitor&& visit) {
  for (const auto& backend : backends.all()) visit("/" + backend->name(), *backend);
  if (Backend* backend = backends.default_backend(); backend != nullptr) {
    visit(std::string(), *backend);
  }
}

}  // namespace stdgate
