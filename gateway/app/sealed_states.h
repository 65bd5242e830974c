// SealedStates: states that modern MCP clients keep for the gateway between the requests of a call,
// sealed with the keys of session ids.
//
// Owner: the worker.
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
  SealedStates(const std::vector<seal::Key>& keys, seal::RandomBytes random)
      : sealer_(keys, std::move(random)) {}

  std::string seal(std::string_view plain, std::string_view context) override {
    return sealer_.seal(plain, context);
  }
  std::optional<std::string> open(std::string_view sealed, std::string_view context) override {
    return sealer_.open(sealed, context);
  }

 private:
  const seal::Sealer sealer_;
};

}  // namespace stdgate::app
