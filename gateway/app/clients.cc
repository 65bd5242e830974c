#include "gateway/app/clients.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "transports/auth/authenticators.h"

namespace stdgate::app {

namespace {

constexpr size_t kSpare = 16;
// A backend has sessions with a child, and as many without one (SessionRouter).
constexpr size_t kSessionsOfEachPlace = 2;
// An MCP session over HTTP, and what listens for it at modern children (SessionListener).
constexpr size_t kCallersOfASession = 2;

}  // namespace

size_t client_places(const config::Config& config) {
  size_t count = config.limits.connections + kSpare;
  for (const config::BackendConfig& backend : config.backends) {
    if (backend.protocol != config::Protocol::mcp) continue;
    count += kCallersOfASession * kSessionsOfEachPlace * backend.pool.sessions;
  }
  return count;
}

std::string why_no_client(const session::Callers& callers) {
  if (!callers.is_full()) return {};
  const std::string number = std::to_string(callers.capacity());
  return "all " + number + " places of clients are taken; raise limits.connections";
}

namespace {

// Whether all of `before` that `is_his` are in `after` as they were.
template <class Item, class IsHis>
bool are_all_in(const std::vector<Item>& before, const std::vector<Item>& after, IsHis is_his) {
  return std::ranges::all_of(before, [&](const Item& item) {
    return !is_his(item) || std::ranges::find(after, item) != after.end();
  });
}

// The credentials of an entry: keys or hashes of them.
std::vector<std::string> credentials_of(const config::ApiKeyConfig& entry) {
  if (entry.hash.empty()) return entry.keys;
  return {entry.hash};
}

// Whether this credential still makes the same principal, for as long at least.
bool is_as_good(const std::string& credential, const config::ApiKeyConfig& before,
                const std::vector<config::ApiKeyConfig>& after) {
  return std::ranges::any_of(after, [&](const config::ApiKeyConfig& entry) {
    const auto own = credentials_of(entry);
    const bool lasts =
        !entry.expires_at || (before.expires_at && *before.expires_at <= *entry.expires_at);
    return entry.name == before.name && entry.roles == before.roles && lasts &&
           std::ranges::find(own, credential) != own.end();
  });
}

// Which key a client of that name has shown is not known: all of them have to be good.
bool are_keys_good(std::string_view name, const std::vector<config::ApiKeyConfig>& before,
                   const std::vector<config::ApiKeyConfig>& after) {
  return std::ranges::all_of(before, [&](const config::ApiKeyConfig& entry) {
    if (entry.name != name) return true;
    return std::ranges::all_of(credentials_of(entry), [&](const std::string& credential) {
      return is_as_good(credential, entry, after);
    });
  });
}

}  // namespace

bool is_still_known(const policy::Principal& principal, const config::AuthConfig& before,
                    const config::AuthConfig& after) {
  const std::string_view name = principal.name;
  switch (principal.kind) {
    case policy::Principal::Kind::api_key: {
      const bool may_be_of_file = name == auth::ApiKeys::kFileName;
      return are_keys_good(name, before.api_keys, after.api_keys) &&
             are_all_in(before.keys, after.keys,
                        [&](const std::string&) { return may_be_of_file; });
    }
    case policy::Principal::Kind::token:
      return are_all_in(before.jwt, after.jwt, [&](const config::JwtConfig& issuer) {
        return issuer.issuer == principal.issuer;
      });
    case policy::Principal::Kind::certificate:
      return before.mtls == after.mtls;
    case policy::Principal::Kind::signature:
      return are_all_in(before.signatures, after.signatures,
                        [&](const config::SignatureConfig& key) { return key.key_id == name; });
  }
  return false;
}

}  // namespace stdgate::app
