// Principal: who calls, as an authenticator has found it.
//
// A value that does not change; shared by the request, connection or session that it was found for.
// A call knows it during its own accept() only. No principal: the client is anonymous.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/environment_variables.h"

namespace stdgate::policy {

struct Principal {
  enum class Kind : uint8_t { api_key, token, certificate, signature };

  Kind kind = Kind::api_key;
  std::string name;     // for people: logs, audit, limits; unique together with kind and issuer
  std::string issuer;   // of a token
  std::string subject;  // of a token or certificate
  std::vector<std::string> roles;
  std::vector<std::string> scopes;
  std::optional<std::chrono::system_clock::time_point> expires;  // nothing: never

  [[nodiscard]] bool has_role(std::string_view role) const {
    return std::find(roles.begin(), roles.end(), role) != roles.end();
  }
  [[nodiscard]] bool has_scope(std::string_view scope) const {
    return std::find(scopes.begin(), scopes.end(), scope) != scopes.end();
  }
};

// The source of the principal's name: api_key, certificate, signature, or the issuer without its
// scheme. Two principals with the same name and source are the same.
inline std::string source_of(const Principal& principal) {
  switch (principal.kind) {
    case Principal::Kind::api_key:
      return "api_key";
    case Principal::Kind::certificate:
      return "certificate";
    case Principal::Kind::signature:
      return "signature";
    case Principal::Kind::token:
      break;
  }
  return std::string(config::source_of_issuer(principal.issuer));
}

// Distinguishes the principal that may continue a call, or see what was kept of it, from all
// others; empty: anonymous.
std::string identity_of(const Principal* principal);

using PrincipalRef = std::shared_ptr<const Principal>;

// Whether both are the same principal, or both anonymous; roles, scopes and expiry may differ from
// credential to credential.
inline bool is_same(const Principal* one, const Principal* other) {
  if (one == nullptr || other == nullptr) return one == other;
  return one->kind == other->kind && one->issuer == other->issuer && one->name == other->name;
}

}  // namespace stdgate::policy
