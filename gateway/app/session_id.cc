#include "gateway/app/session_id.h"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdlib>

namespace stdgate::app {

std::string random_session_id(unsigned worker) {
  std::array<uint8_t, 16> bytes{};
  // Once the kernel's pool is filled, which is before any service starts, this cannot fail.
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text{kDigits[worker >> 4 & 15], kDigits[worker & 15]};
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace stdgate::app
