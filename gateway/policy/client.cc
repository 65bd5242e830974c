#include "gateway/policy/client.h"

#include <functional>
#include <string_view>

#include "gateway/config/environment_variables.h"

namespace stdgate::policy {

std::string source_of(const Principal& principal) {
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

std::string identity_of(const Principal* principal) {
  if (principal == nullptr) return {};
  std::string text = std::to_string(static_cast<int>(principal->kind));
  text.append(" ").append(std::to_string(principal->issuer.size())).append(" ");
  return text.append(principal->issuer).append(principal->name);
}

namespace {

// A principal and an address as views: what clients are compared by.
struct KeyView {
  ClientAddress address{};
  int kind = -1;
  std::string_view issuer{};
  std::string_view name{};
  friend bool operator==(const KeyView&, const KeyView&) = default;
};

KeyView view_of(const ClientRef& client) {
  if (client.principal == nullptr) return {.address = client.address.key()};
  return {{},
          static_cast<int>(client.principal->kind),
          client.principal->issuer,
          client.principal->name};
}

KeyView view_of(const ClientKey& key) { return {key.address, key.kind, key.issuer, key.name}; }

size_t hash_of(const KeyView& key) {
  const std::hash<std::string_view> hash;
  return (hash(key.name) * 31 + hash(key.issuer)) * 31 + ClientAddressHash()(key.address) +
         static_cast<size_t>(key.kind);
}

}  // namespace

bool is_same_client(const ClientRef& a, const ClientRef& b) { return view_of(a) == view_of(b); }

ClientKey::ClientKey(const ClientRef& client) {
  const KeyView view = view_of(client);
  address = view.address;
  kind = view.kind;
  issuer = view.issuer;
  name = view.name;
}

std::string ClientKey::to_string() const { return kind < 0 ? address.to_string() : name; }

size_t ClientHash::operator()(const ClientKey& key) const { return hash_of(view_of(key)); }
size_t ClientHash::operator()(const ClientRef& client) const { return hash_of(view_of(client)); }
bool ClientEqual::operator()(const ClientKey& a, const ClientKey& b) const {
  return view_of(a) == view_of(b);
}
bool ClientEqual::operator()(const ClientRef& a, const ClientKey& b) const {
  return view_of(a) == view_of(b);
}

}  // namespace stdgate::policy
