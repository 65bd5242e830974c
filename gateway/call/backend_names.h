// BackendNames: the names of methods and tools that metrics tell apart at one backend.
//
// The observer hears of each name when the name gets its place. Owner: the backend, or the owner of
// several pools of one backend, which share the names as they share the backend's id. Limits: see
// NameTable.
#pragma once

#include <cstddef>

#include "gateway/call/name_table.h"
#include "gateway/observer.h"

namespace stdgate::call {

class BackendNames {
 public:
  // `observer` outlives this, and knows the backend by this id.
  BackendNames(BackendId backend, size_t capacity, Observer& observer)
      : methods_(capacity,
                 [backend, &observer](MethodId method, std::string_view name) {
                   observer.on_method(backend, method, name);
                 }),
        tools_(capacity, [backend, &observer](ToolId tool, std::string_view name) {
          observer.on_tool(backend, tool, name);
        }) {}

  [[nodiscard]] NameTable& methods() { return methods_; }
  [[nodiscard]] NameTable& tools() { return tools_; }

 private:
  NameTable methods_;
  NameTable tools_;
};

}  // namespace stdgate::call
