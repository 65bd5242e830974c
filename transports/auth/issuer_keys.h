// IssuerKeys: the public keys of an issuer of tokens, from a file, or fetched and kept fresh.
// Jwks: one set of them.
//
// Job: decide when to fetch and what to believe. Fetched keys are used until newer ones have come,
// however long the issuer is down. They are fetched again before they are stale (Cache-Control:
// max-age within bounds). When a token names an unknown key, they are fetched at once, at most
// every kMissedEvery; until that fetch has ended, the token can be neither accepted nor refused.
// The place of the keys is configured, or the issuer's own description names it (OpenID Connect
// Discovery 1.0, else RFC 8414), which must name the same issuer. Owner: Tokens. Limits: see
// Fetcher and Jwks; kMaxMissing ids of unknown keys, beyond which the oldest is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "transports/auth/digest.h"
#include "transports/fetch/fetcher.h"

namespace stdgate::auth {

// Jwks: the public keys of an issuer of tokens (RFC 7517).
//
// Keys that nothing here can use are left out: of other kinds, for encryption, too short. A set
// with private or secret keys is refused, as it should not be where it is. Owner: IssuerKeys.
// Limit: kMaxKeys.
class Jwks {
 public:
  static constexpr size_t kMaxKeys = 100;

  // The error says what is wrong with the set.
  static tl::expected<Jwks, std::string> parse(std::string_view json);

  [[nodiscard]] size_t size() const { return keys_.size(); }
  // Whether there is a key with this id, whatever it is for.
  [[nodiscard]] bool has(std::string_view id) const;
  // The keys that `other` does not have.
  [[nodiscard]] std::vector<std::string_view> ids_missing_in(const Jwks& other) const;
  // The key with this id, or the only one where a token names none, if it is for the algorithm.
  [[nodiscard]] evp_pkey_st* find(std::string_view id, const SignatureAlgorithm& algorithm) const;

 private:
  struct Key {
    std::string id;                                 // empty: none
    const SignatureAlgorithm* algorithm = nullptr;  // null: any that fits
    PublicKey key;
  };

  std::vector<Key> keys_;
};

// Services for fetching keys; they outlive the keys.
struct KeyServices {
  fetch::Fetcher& fetcher;
  const Clock& clock;
  TimerQueue& timers;
  Log& log;
  Observer& observer;
};

// Facts about an issuer's keys, for /debug/state and metrics.
struct KeyFacts {
  std::string_view issuer;
  std::string_view source;      // file, url, discovery
  size_t keys = 0;              // 0: none have come yet
  std::optional<Duration> age;  // of fetched ones
  std::string problem;          // of the last fetch; empty: it went well
};

class IssuerKeys {
 public:
  static constexpr std::chrono::hours kLifetime{1};  // where the server names none
  static constexpr std::chrono::minutes kMinLifetime{5};
  static constexpr std::chrono::hours kMaxLifetime{24};
  static constexpr std::chrono::seconds kMissedEvery{30};
  static constexpr std::chrono::seconds kFirstRetry{1};  // after a failure, then doubled
  static constexpr std::chrono::seconds kLastRetry{60};

  static constexpr size_t kMaxMissing = 64;

  // A file's keys have been checked.
  IssuerKeys(const config::JwtConfig& config, const KeyServices& services);
  // `changed` is called when other keys have come.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  // Null: none have come yet.
  [[nodiscard]] const Jwks* keys() const { return keys_ ? &*keys_ : nullptr; }
  // A token was signed with a key that is not among them. Whether it may still be found: no fetch
  // that has begun after the first such token has brought keys yet.
  bool look_for(std::string_view key_id);
  [[nodiscard]] KeyFacts facts() const;

 private:
  enum class Step : uint8_t { openid, oauth, keys };

  // By its digest, with the number of fetches that had begun when it was first asked for.
  struct Missing {
    size_t id = 0;
    uint64_t asked_at = 0;
  };

  void look_again();
  void add_missing(std::string_view key_id, uint64_t asked_at);
  void fetch_now();
  void get(Step step, std::string url);
  void on_fetched(Step step, const std::string& url, const fetch::Fetched& fetched);
  void read_description(const std::string& url, const fetch::Fetched& fetched);
  void take_keys(const std::string& url, const fetch::Fetched& fetched);
  void fail(FetchOutcome outcome, std::string_view url, std::string_view detail);
  [[nodiscard]] bool may_fetch(std::string_view url) const;

  const std::string issuer_;
  const config::JwksConfig config_;
  const KeyServices services_;
  std::function<void()> changed_;
  std::optional<Jwks> keys_;
  std::string text_;  // of the keys in use
  TimePoint fetched_at_{};
  std::optional<TimePoint> missed_at_;  // the last fetch because of a missing key
  std::deque<Missing> missing_;
  uint64_t begun_ = 0;    // fetches
  uint64_t brought_ = 0;  // the last of them that has brought keys
  Duration retry_ = kFirstRetry;
  std::string problem_;
  Timer timer_;  // the next fetch
  std::unique_ptr<fetch::Fetch> fetch_;
};

}  // namespace stdgate::auth
