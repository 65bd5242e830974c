#include "transports/http/endpoint.h"

#include <array>

namespace stdgate::http {

namespace {

struct Entry {
  std::string_view methods;
  std::string_view allow;
};

// By AllowedMethods.
constexpr std::array<Entry, 3> kEntries{{
    {"GET", "GET, HEAD, OPTIONS"},
    {"POST", "POST, OPTIONS"},
    {"GET, POST, DELETE", "GET, POST, DELETE, OPTIONS"},
}};

const Entry& entry_of(AllowedMethods allowed) { return kEntries[static_cast<size_t>(allowed)]; }

}  // namespace

bool is_allowed(Method method, AllowedMethods allowed) {
  switch (method) {
    case Method::get:
      return allowed != AllowedMethods::post;
    case Method::head:
      return allowed == AllowedMethods::read;
    case Method::post:
      return allowed != AllowedMethods::read;
    case Method::del:
      return allowed == AllowedMethods::session;
    case Method::options:
    case Method::other:
      return false;
  }
  return false;
}

std::string_view methods_of(AllowedMethods allowed) { return entry_of(allowed).methods; }

std::string_view allow_value(AllowedMethods allowed) { return entry_of(allowed).allow; }

void Endpoint::refuse(Exchange& exchange, const rpc::FaultReport& /*report*/) {
  exchange.fail({400, "no body is expected here"});
}

}  // namespace stdgate::http
