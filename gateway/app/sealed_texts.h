// Texts that clients keep for the gateway, sealed: ids of sessions, and states between requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/session/sealed_texts.h"
#include "transports/seal/sealer.h"

namespace stdgate::app {

// The keys of the key file, or else a random key, which ends with its owner.
std::vector<seal::Key> session_keys(const config::SessionsConfig& config,
                                    const seal::RandomBytes& random);

// The beginning of this process's names, like "gate-1.00".
std::string home_of(const std::string& replica, unsigned worker);
// That part of a text, if the text has one; nothing: it cannot.
std::optional<std::string_view> home_part(std::string_view text);

// SealedSessionIds: ids of MCP sessions that carry, encrypted, what another process needs to
// continue the session.
//
//   [<home>.]<worker><sealed>
//
// `home` is the name of the replica that opened the session, for load balancers; without a name
// there is no dot. `worker` is the number of the worker, two hex digits. `sealed` is a text of the
// Sealer over {version, backend, principal's digest, created, ttl, the params of `initialize`}. The
// text before it is its context, so all of an id is authenticated, and a session has one id. Owner:
// the worker. Limits: kMaxId; params beyond kMaxInitialize are left out.
class SealedSessionIds final : public session::SessionIds {
 public:
  static constexpr size_t kMaxId = 2 << 10;
  static constexpr size_t kMaxInitialize = 1 << 10;

  struct Clocks {
    const Clock& clock;
    const WallClock& wall;
  };
  // `worker` is below 256; `replica` a host name label, or empty.
  SealedSessionIds(const std::vector<seal::Key>& keys, seal::RandomBytes random,
                   const std::string& replica, unsigned worker, Duration ttl, const Clocks& clocks);

  std::string issue(const session::SessionFacts& facts) override;
  [[nodiscard]] std::optional<session::CarriedSession> open(
      std::string_view id, std::string_view backend, const policy::Principal* principal) override;
  [[nodiscard]] SessionName name_of(std::string_view id) const override;
  [[nodiscard]] std::optional<Duration> lifetime() const override { return ttl_; }

 private:
  [[nodiscard]] std::chrono::milliseconds now() const;

  const seal::Sealer sealer_;
  const std::string front_;  // "gate-1.00"
  const Duration ttl_;
  const Clocks clocks_;
};

// SealedStates: texts that MCP clients keep for the gateway between their requests, sealed with the
// keys of session ids.
//
// Named texts are `[<home>.]<worker><sealed>`, like ids of sessions (SealedSessionIds). Owner: the
// worker.
class SealedStates final : public session::StateSeal {
 public:
  // `replica` and `worker`: see SealedSessionIds.
  SealedStates(const std::vector<seal::Key>& keys, seal::RandomBytes random,
               const std::string& replica, unsigned worker);

  std::string seal(std::string_view plain, std::string_view context) override {
    return sealer_.seal(plain, context);
  }
  std::optional<std::string> open(std::string_view sealed, std::string_view context) override {
    return sealer_.open(sealed, context);
  }
  std::string seal_named(std::string_view plain, std::string_view context) override;
  std::optional<std::string> open_named(std::string_view sealed, std::string_view context) override;

 private:
  const seal::Sealer sealer_;
  const std::string front_;  // "gate-1.00"
};

}  // namespace stdgate::app
