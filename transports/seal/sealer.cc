#include "transports/seal/sealer.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"

namespace stdgate::seal {

namespace {

constexpr std::string_view kNumberLabel = "stdgate key number";
constexpr std::string_view kNonceLabel = "stdgate key of nonces";
constexpr size_t kHead = 1 + sizeof(KeyNumber);  // format, key number

const uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}
uint8_t* bytes_of(std::string& text) { return reinterpret_cast<uint8_t*>(text.data()); }
int length_of(std::string_view text) { return static_cast<int>(text.size()); }

// A failure of libcrypto for another reason than a false tag (no memory, no AES) is not the
// client's fault.
void expect(int result) { STDGATE_CHECK(result == 1); }

// HMAC-SHA256 over the parts, the first behind its length.
Key hmac(const Key& key, std::string_view first, std::string_view second) {
  struct Free {
    void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
    void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MAC, Free> mac(EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr));
  STDGATE_CHECK(mac != nullptr);
  const std::unique_ptr<EVP_MAC_CTX, Free> context(EVP_MAC_CTX_new(mac.get()));
  STDGATE_CHECK(context != nullptr);
  std::array<char, 7> digest{"SHA256"};
  const std::array<OSSL_PARAM, 2> params = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  expect(EVP_MAC_init(context.get(), key.data(), key.size(), params.data()));
  std::array<uint8_t, 8> length{};
  for (size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<uint8_t>(uint64_t{first.size()} >> (8 * i));
  }
  expect(EVP_MAC_update(context.get(), length.data(), length.size()));
  expect(EVP_MAC_update(context.get(), bytes_of(first), first.size()));
  expect(EVP_MAC_update(context.get(), bytes_of(second), second.size()));
  Key result{};
  size_t written = 0;
  expect(EVP_MAC_final(context.get(), result.data(), &written, result.size()));
  STDGATE_CHECK(written == result.size());
  return result;
}

}  // namespace

KeyNumber number_of(const Key& key) {
  std::string text(kNumberLabel);
  text.append(reinterpret_cast<const char*>(key.data()), key.size());
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  expect(EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr));
  OPENSSL_cleanse(text.data(), text.size());
  KeyNumber number{};
  std::copy_n(digest.begin(), number.size(), number.begin());
  return number;
}

Sealer::Sealer(const std::vector<Key>& keys, RandomBytes random)
    : random_(std::move(random)), cipher_(EVP_CIPHER_CTX_new()) {
  STDGATE_CHECK(!keys.empty() && keys.size() <= kMaxKeys && cipher_ != nullptr);
  for (const Key& key : keys) keys_.push_back({number_of(key), key, hmac(key, kNonceLabel, {})});
}

Sealer::~Sealer() {
  for (NumberedKey& key : keys_) {
    OPENSSL_cleanse(key.key.data(), key.key.size());
    OPENSSL_cleanse(key.nonces.data(), key.nonces.size());
  }
}

void Sealer::FreeCipher::operator()(evp_cipher_ctx_st* cipher) const {
  EVP_CIPHER_CTX_free(cipher);
}

std::string Sealer::seal(std::string_view plain, std::string_view context) const {
  Nonce nonce{};
  random_(nonce);
  return seal_with(nonce, plain, context);
}

std::string Sealer::seal_same(std::string_view plain, std::string_view context) const {
  const Key digest = hmac(keys_.front().nonces, context, plain);
  Nonce nonce{};
  std::copy_n(digest.begin(), nonce.size(), nonce.begin());
  return seal_with(nonce, plain, context);
}

std::string Sealer::seal_with(const Nonce& nonce, std::string_view plain,
                              std::string_view context) const {
  const NumberedKey& key = keys_.front();
  std::string text{static_cast<char>(kFormat)};
  text.append(key.number.begin(), key.number.end());
  const std::string head = text;
  text.append(nonce.begin(), nonce.end());
  const size_t at = text.size();
  text.resize(at + plain.size() + kTag);

  evp_cipher_ctx_st* cipher = cipher_.get();
  int written = 0;
  expect(EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), nullptr, key.key.data(), nonce.data()));
  expect(EVP_EncryptUpdate(cipher, nullptr, &written, bytes_of(std::string_view(head)),
                           length_of(head)));
  expect(EVP_EncryptUpdate(cipher, nullptr, &written, bytes_of(context), length_of(context)));
  expect(
      EVP_EncryptUpdate(cipher, bytes_of(text) + at, &written, bytes_of(plain), length_of(plain)));
  expect(EVP_EncryptFinal_ex(cipher, bytes_of(text) + at + plain.size(), &written));
  expect(
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, kTag, bytes_of(text) + at + plain.size()));
  return encode_base64url(text);
}

std::optional<std::string> Sealer::open(std::string_view sealed, std::string_view context) const {
  std::optional<std::string> text = decode_base64(sealed, Base64Alphabet::url);
  if (!text || text->size() < kOverhead || static_cast<uint8_t>(text->front()) != kFormat) {
    return std::nullopt;
  }
  const std::string_view head = std::string_view(*text).substr(0, kHead);
  const std::string_view body =
      std::string_view(*text).substr(kHead + kNonce, text->size() - kOverhead);
  std::string plain(body.size(), '\0');
  evp_cipher_ctx_st* cipher = cipher_.get();
  for (const NumberedKey& key : keys_) {
    if (!std::equal(key.number.begin(), key.number.end(), bytes_of(head) + 1)) continue;
    int written = 0;
    expect(EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), nullptr, key.key.data(),
                              bytes_of(*text) + kHead));
    expect(EVP_DecryptUpdate(cipher, nullptr, &written, bytes_of(head), length_of(head)));
    expect(EVP_DecryptUpdate(cipher, nullptr, &written, bytes_of(context), length_of(context)));
    expect(EVP_DecryptUpdate(cipher, bytes_of(plain), &written, bytes_of(body), length_of(body)));
    expect(EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, kTag,
                               bytes_of(*text) + text->size() - kTag));
    if (EVP_DecryptFinal_ex(cipher, bytes_of(plain) + plain.size(), &written) == 1) return plain;
  }
  return std::nullopt;
}

}  // namespace stdgate::seal
