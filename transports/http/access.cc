#include "transports/http/access.h"

#include <array>

namespace stdgate {

namespace {

struct AccessEntry {
  std::string_view methods;
  std::string_view allow;
};

// By Access.
constexpr std::array<AccessEntry, 3> kEntries{{
    {"GET", "GET, HEAD, OPTIONS"},
    {"POST", "POST, OPTIONS"},
    {"GET, POST, DELETE", "GET, POST, DELETE, OPTIONS"},
}};

const AccessEntry& entry_of(Access access) { return kEntries[static_cast<size_t>(access)]; }

}  // namespace

bool is_allowed(Method method, Access access) {
  switch (method) {
    case Method::get:
      return access != Access::post;
    case Method::head:
      return access == Access::read;
    case Method::post:
      return access != Access::read;
    case Method::del:
      return access == Access::session;
    case Method::options:
    case Method::other:
      return false;
  }
  return false;
}

std::string_view methods_of(Access access) { return entry_of(access).methods; }

std::string_view allow_value(Access access) { return entry_of(access).allow; }

}  // namespace stdgate
