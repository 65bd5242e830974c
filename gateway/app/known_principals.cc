#include "gateway/app/known_principals.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "transports/auth/api_keys.h"

namespace stdgate::app {
namespace {

// Whether all of `before` that `is_his` are in `after` as they were.
template <class Item, class IsHis>
bool are_all_in(const std::vector<Item>& before, const std::vector<Item>& after, IsHis is_his) {
  return std::ranges::all_of(before, [&](const Item& item) {
    return !is_his(item) || std::ranges::find(after, item) != after.end();
  });
}

}  // namespace

bool is_still_known(const policy::Principal& principal, const config::AuthConfig& before,
                    const config::AuthConfig& after) {
  const std::string_view name = principal.name;
  switch (principal.kind) {
    case policy::Principal::Kind::api_key: {
      const bool may_be_of_file = name == auth::ApiKeys::kFileName;
      return are_all_in(before.api_keys, after.api_keys,
                        [&](const config::ApiKeyConfig& key) { return key.name == name; }) &&
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
