// SealedStates: texts that MCP clients keep for the gateway between their requests, sealed with the
// keys of session ids.
//
// Named ones are `[<home>.]<worker><sealed>`, as ids of sessions are (SealedSessionIds). Owner: the
// worker.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/session/state_seal.h"
#include "transports/seal/sealer.h"

namespace stdgate::app {

class SealedStates final : public session::StateSeal {
 public:
  // `replica` and `worker` as those of SealedSessionIds.
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
