// Client: who opens a session. ClientKey: what limits take for one client: its principal or,
// anonymous, its address (the /64 network of IPv6, the user at the other end of a Unix socket).
//
// A value. ClientRef says who that is without a copy; ClientHash and ClientEqual find a key by it.
#pragma once

#include <cstddef>
#include <string>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/policy/principal.h"

namespace stdgate::policy {

struct ClientRef {
  const Principal* principal = nullptr;  // null: anonymous
  ClientAddress address{};

  // Neither a principal nor an address.
  [[nodiscard]] bool is_anybody() const { return principal == nullptr && address.is_none(); }
};

// Whether limits take both for one client.
bool is_same_client(const ClientRef& a, const ClientRef& b);

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

// The client that opens a session: its address, its principal, and the account of its memory.
struct Client {
  ClientAddress address{};
  PrincipalRef principal{};  // null: anonymous
  AccountRef account{};      // none: nothing is charged
};

}  // namespace stdgate::policy
