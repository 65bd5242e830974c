// SessionName: how log and audit name a session: eight hex digits.
//
// An id of MCP is a credential, so it is never written there. The name is the beginning of the id's
// SHA-256, which everyone with the id can compute. A session without an id (WebSocket) has a random
// name. A value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stdgate {

struct SessionName {
  std::array<char, 8> digits{};  // zeros: none

  // `bits`: the 32 highest bits of a digest, or random bits.
  static SessionName of(uint32_t bits) {
    SessionName name;
    for (size_t i = 0; i < name.digits.size(); ++i) {
      name.digits[i] = "0123456789abcdef"[bits >> (28 - 4 * i) & 15];
    }
    return name;
  }
  [[nodiscard]] bool is_none() const { return digits[0] == 0; }
  // Empty for none.
  [[nodiscard]] std::string_view view() const {
    return is_none() ? std::string_view() : std::string_view(digits.data(), digits.size());
  }
};

}  // namespace stdgate
