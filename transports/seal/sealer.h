// Sealer: texts that only holders of the key can read or make (AES-256-GCM, NIST SP 800-38D).
//
// Job: seal with the first of its keys, open with any of them, so that keys can be rotated. A
// sealed text is base64url of {format, key number, nonce, ciphertext, tag}. All of it is
// authenticated, and so is `context`, which is not part of it. Owner: its user; one thread.
// Generates no randomness itself.
//
// Limits: kMaxKeys. The nonces are 96 random bits, so that replicas with the same key need not know
// each other. The nonces of seal_same() are as good: the first bits of an HMAC-SHA256 over context
// and text, with a key that is derived from the key. With 2^32 texts of one key, in all places
// together, two share a nonce with a probability of 2^-33, and a reader of both could forge texts.
// So a key should be replaced before that (section 8.3): at 1000 texts a second after 49 days.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct evp_cipher_ctx_st;

namespace stdgate::seal {

using Key = std::array<uint8_t, 32>;
// Fills all of it with bytes that cannot be guessed.
using RandomBytes = std::function<void(std::span<uint8_t> out)>;

// The name of a key, which tells nothing about it: the first bytes of its SHA-256, labelled. A key
// has this name in every place, whatever the order of the keys.
using KeyNumber = std::array<uint8_t, 4>;
KeyNumber number_of(const Key& key);

class Sealer {
 public:
  static constexpr size_t kMaxKeys = 16;
  static constexpr uint8_t kFormat = 1;
  static constexpr size_t kNonce = 12;
  static constexpr size_t kTag = 16;
  // Bytes that sealing adds to a text, before base64.
  static constexpr size_t kOverhead = 1 + sizeof(KeyNumber) + kNonce + kTag;

  // `keys`: 1 to kMaxKeys.
  Sealer(const std::vector<Key>& keys, RandomBytes random);
  ~Sealer();
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  [[nodiscard]] std::string seal(std::string_view plain, std::string_view context) const;
  // Equal texts and contexts give equal results: an observer of two can tell whether they stand for
  // the same, and nothing else.
  [[nodiscard]] std::string seal_same(std::string_view plain, std::string_view context) const;
  // Nothing: not sealed with one of these keys, in this context, or changed since.
  [[nodiscard]] std::optional<std::string> open(std::string_view sealed,
                                                std::string_view context) const;

 private:
  using Nonce = std::array<uint8_t, kNonce>;
  struct NumberedKey {
    KeyNumber number;
    Key key;
    Key nonces;  // the nonces of seal_same() are made with it
  };
  [[nodiscard]] std::string seal_with(const Nonce& nonce, std::string_view plain,
                                      std::string_view context) const;
  struct FreeCipher {
    void operator()(evp_cipher_ctx_st* cipher) const;
  };

  std::vector<NumberedKey> keys_;
  const RandomBytes random_;
  const std::unique_ptr<evp_cipher_ctx_st, FreeCipher> cipher_;
};

}  // namespace stdgate::seal
