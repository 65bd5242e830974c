#include "transports/auth/request_signatures.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/config/value_names.h"

namespace stdgate::auth {

namespace {

using config::SignatureMethod;
using Outcome = Judgement::Outcome;
using std::chrono::seconds;

seconds seconds_of(WallTime time) {
  return std::chrono::time_point_cast<seconds>(time).time_since_epoch();
}

Judgement refuse_signature(std::string_view why) {
  return {.outcome = Outcome::unknown, .problem = why};
}

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

std::optional<std::string> decode_secret(std::string_view text) {
  text = trim(text, " \t\r\n");
  const size_t padding = text.size() - std::min(text.find('='), text.size());
  if (padding > 2) return std::nullopt;
  return decode_base64(text.substr(0, text.size() - padding), Base64Alphabet::standard);
}

// Null: it is none.
PublicKey read_key(const std::string& pem) {
  const std::unique_ptr<BIO, FreeBio> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  PublicKey key(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return key;
}

// Algorithms of signatures that tokens have too.
const SignatureAlgorithm& algorithm_of(SignatureMethod method) {
  const auto* const found = find_algorithm(method == SignatureMethod::ed25519 ? "EdDSA" : "ES256");
  STDGATE_CHECK(found != nullptr);
  return *found;
}

bool is_hmac(std::string_view secret, std::string_view text, std::string_view signature) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  size_t size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  return EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, secret.data(), secret.size(), bytes,
                   text.size(), made.data(), made.size(), &size) != nullptr &&
         size == signature.size() && CRYPTO_memcmp(made.data(), signature.data(), size) == 0;
}

}  // namespace

RequestSignatures::RequestSignatures(const std::vector<config::SignatureConfig>& keys,
                                     const Clocks& clocks, size_t max_nonces)
    : clocks_(clocks), max_nonces_(max_nonces), started_(seconds_of(clocks.now())) {
  for (const config::SignatureConfig& config : keys) {
    Key& key = keys_.emplace_back();
    key.id = config.key_id;
    key.method = config.algorithm;
    if (key.method == SignatureMethod::hmac_sha256) {
      key.secret = decode_secret(config.secret).value_or(std::string());
      STDGATE_CHECK(key.secret.size() >= kMinSecret);
    } else {
      key.public_key = read_key(config.public_key);
      STDGATE_CHECK(key.public_key != nullptr);
    }
    policy::Principal principal;
    principal.kind = policy::Principal::Kind::signature;
    principal.name = config.key_id;
    principal.roles = config.roles;
    key.principal = std::make_shared<const policy::Principal>(std::move(principal));
  }
}

bool RequestSignatures::Key::has_signed(const MessageSignature& signature) const {
  if (method == SignatureMethod::hmac_sha256) {
    return is_hmac(secret, signature.base, signature.signature);
  }
  return verify(algorithm_of(method), *public_key, signature.base, signature.signature);
}

const RequestSignatures::Key* RequestSignatures::find(std::string_view id) const {
  const auto found = std::ranges::find(keys_, id, &Key::id);
  return found == keys_.end() ? nullptr : &*found;
}

void RequestSignatures::take_nonces(RequestSignatures& predecessor) {
  started_ = predecessor.started_;
  nonces_ = std::move(predecessor.nonces_);
  counts_ = std::move(predecessor.counts_);
  order_ = std::move(predecessor.order_);
}

std::optional<Judgement> RequestSignatures::judge_signature(const MessageSignature& signature) {
  const Key* const key = find(signature.key_id);
  if (key == nullptr) return refuse_signature("the signature's key is not known");
  if (!signature.algorithm.empty() && signature.algorithm != config::name_of(key->method)) {
    return refuse_signature("the signature's algorithm is not that of its key");
  }
  const seconds now = seconds_of(clocks_.now());
  const seconds created(signature.created);
  if (created > now + kWindow || created + kWindow < now) {
    return refuse_signature("the signature was not made within a minute of now");
  }
  if (created < started_)
    return refuse_signature("the signature was made before the gateway started");
  if (signature.expires && seconds(*signature.expires) <= now) {
    return refuse_signature("the signature has expired");
  }
  if (!key->has_signed(signature)) return refuse_signature("the signature is wrong");
  forget_old_nonces();
  const Digest digest = sha256_.of(key->id + '\0' + signature.nonce);
  if (nonces_.contains(digest)) return refuse_signature("the signature has been used before");
  size_t& count = counts_[key->id];
  if (count >= max_nonces_) {
    return Judgement{.outcome = Outcome::undecided, .problem = "too many signatures in a minute"};
  }
  ++count;
  nonces_.insert(digest);
  order_.push_back(Nonce{this->now() + (created - now) + kWindow + seconds(1), digest, key->id});
  Judgement judgement{.outcome = Outcome::accepted, .identity = {key->principal}};
  if (signature.expires) {
    judgement.identity.expires = clocks_.at(std::chrono::sys_seconds(seconds(*signature.expires)));
  }
  return judgement;
}

// One that lasts longer keeps those behind it for at most so long.
void RequestSignatures::forget_old_nonces() {
  while (!order_.empty() && order_.front().until < now()) {
    nonces_.erase(order_.front().digest);
    if (const auto count = counts_.find(order_.front().key); --count->second == 0) {
      counts_.erase(count);
    }
    order_.pop_front();
  }
}

std::string check_key(const config::SignatureConfig& config) {
  if (config.algorithm == SignatureMethod::hmac_sha256) {
    const auto secret = decode_secret(config.secret);
    const bool is_good = secret && secret->size() >= RequestSignatures::kMinSecret;
    return is_good ? "" : "expected 32 bytes or more in base64";
  }
  const PublicKey key = read_key(config.public_key);
  if (key == nullptr) return "expected a public key in PEM";
  return fits(algorithm_of(config.algorithm), *key) ? "" : "is a key for another algorithm";
}

}  // namespace stdgate::auth
