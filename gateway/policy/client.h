// Principals and clients: who calls, and how limits tell clients apart.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"

namespace stdgate::policy {

// Principal: who calls, as an authenticator has found it.
//
// A value that does not change; shared by the request, connection or session that it was found for.
// A call knows it during its own accept() only. No principal: the client is anonymous.
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
std::string source_of(const Principal& principal);

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

// ClientRef: a client, without a copy of its principal, which outlives this. A value.
struct ClientRef {
  const Principal* principal = nullptr;  // null: anonymous
  ClientAddress address{};

  // Neither a principal nor an address.
  [[nodiscard]] bool is_anybody() const { return principal == nullptr && address.is_none(); }
};

// Whether limits take both for one client.
bool is_same_client(const ClientRef& a, const ClientRef& b);

// ClientKey: what limits take for one client: its principal or, if it is anonymous, its address
// (the /64 network of IPv6, the user at the other end of a Unix socket). A value.
struct ClientKey {
  ClientKey() = default;
  explicit ClientKey(const ClientRef& client);
  // The principal's name, or the address, for people.
  [[nodiscard]] std::string to_string() const;

  ClientAddress address;
  int kind = -1;  // of the principal; -1: none
  std::string issuer;
  std::string name;
};

// ClientHash and ClientEqual find a ClientKey by a ClientRef, so a look-up copies nothing.
struct ClientHash {
  using is_transparent = void;
  size_t operator()(const ClientKey& key) const;
  size_t operator()(const ClientRef& client) const;
};

struct ClientEqual {
  using is_transparent = void;
  bool operator()(const ClientKey& a, const ClientKey& b) const;
  bool operator()(const ClientRef& a, const ClientKey& b) const;
  bool operator()(const ClientKey& a, const ClientRef& b) const { return (*this)(b, a); }
};

// Client: the client that opens a session: its address, its principal, and the account of its
// memory.
struct Client {
  ClientAddress address{};
  PrincipalRef principal{};  // null: anonymous
  AccountRef account{};      // none: nothing is charged
};

}  // namespace stdgate::policy
