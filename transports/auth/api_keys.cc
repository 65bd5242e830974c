#include "transports/auth/api_keys.h"

#include <memory>
#include <string>
#include <utility>

#include "gateway/base/calendar_time.h"
#include "gateway/config/api_key_file.h"

namespace stdgate::auth {

ApiKeys::ApiKeys(const config::AuthConfig& config, const Clocks& clocks) : clocks_(clocks) {
  for (const config::ApiKeyConfig& key : config.api_keys) add(key);
  if (config.api_key_file.empty()) return;
  config::ApiKeyConfig of_file;
  of_file.name = kFileName;
  of_file.keys = config.keys;
  add(of_file);
}

void ApiKeys::add(const config::ApiKeyConfig& config) {
  policy::Principal principal;
  principal.kind = policy::Principal::Kind::api_key;
  principal.name = config.name;
  principal.roles = config.roles;
  if (config.expires_at) principal.expires = calendar_time(*config.expires_at);
  const auto shared = std::make_shared<const policy::Principal>(std::move(principal));
  if (!config.hash.empty()) keys_.push_back({parse_key_hash(config.hash), shared});
  for (const std::string& key : config.keys) {
    keys_.push_back({config::is_key_hash(key) ? parse_key_hash(key) : sha256_.of(key), shared});
  }
}

std::optional<Judgement> ApiKeys::judge(const Credential& credential) {
  const Digest digest = sha256_.of(credential.text);
  const Key* found = nullptr;
  for (const Key& key : keys_) {
    if (are_equal(key.digest, digest)) found = &key;
  }
  if (found == nullptr) return Judgement{};
  Judgement judgement{Judgement::Outcome::accepted, {found->principal}};
  if (const auto& expires = found->principal->expires) {
    judgement.identity.expires = clocks_.at(*expires);
    if (judgement.identity.expires <= clocks_.clock.now()) {
      return Judgement{Judgement::Outcome::expired};
    }
  }
  return judgement;
}

}  // namespace stdgate::auth
