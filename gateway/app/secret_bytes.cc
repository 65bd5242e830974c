#include "gateway/app/secret_bytes.h"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdlib>

#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/config/config_files.h"
#include "transports/auth/digest.h"

namespace stdgate::app {

void fill_random(std::span<uint8_t> out) {
  // Once the kernel's pool is filled, which is before any service starts, this cannot fail, and up
  // to 256 bytes come whole.
  if (out.size() > 256 || getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size()))
    std::abort();
}

namespace {

constexpr size_t kRandomBytes = 32;
// By it people, and scanners of repositories, know what they see.
constexpr std::string_view kMark = "sg_";

}  // namespace

tl::expected<std::string, std::string> new_key_text() {
  std::array<uint8_t, kRandomBytes> bytes;
  fill_random(bytes);
  std::string key(kMark);
  key += encode_base64url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return "key " + key + "\nhash " + auth::key_hash(auth::Sha256().of(key)) + "\n";
}

tl::expected<std::string, std::string> key_hash_text(std::string_view input) {
  const std::string_view key = trim(input, " \t\r\n");
  if (key.empty()) {
    return tl::unexpected<std::string>("no key on stdin; stdgate hash-key --new makes one");
  }
  if (!config::is_api_key(key)) {
    return tl::unexpected<std::string>("expected one key on stdin, 16 to 256 visible characters");
  }
  return auth::key_hash(auth::Sha256().of(key)) + "\n";
}

}  // namespace stdgate::app
