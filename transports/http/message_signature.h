// Signatures of requests (RFC 9421): what a head says was signed, and whether that is enough. Also
// the structured fields that say it.
//
// Pure. A signature suffices if it covers @method; @target-uri, or @path and any @query;
// content-digest if there is a body; and if it has created, keyid and nonce. One signature, in one
// field.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "transports/auth/authenticator.h"
#include "transports/http/request_head.h"

namespace stdgate::http {

// --- Dictionaries of structured fields (RFC 9651 section 3.2), as far as signatures and digests
// use them: strings, tokens, integers, byte sequences and booleans, and lists of them
//
// Stricter than the RFC: a key that stands there twice is an error, as peers may take either.
// Limits: kMaxEntries members of a dictionary, items of a list, and parameters of each; kMaxInAll
// of all of these. Keys are compared with each other, and any client can send a field.

struct BareItem {
  enum class Kind : uint8_t { string, token, integer, bytes, boolean };

  Kind kind = Kind::boolean;
  std::string text;     // decoded: of strings, tokens and byte sequences
  int64_t number = 1;   // of integers; of booleans 0 or 1
  std::string spelled;  // as section 4.1 writes it
};

struct Parameter {
  std::string key;
  BareItem value;
};

struct Item {
  BareItem value;
  std::vector<Parameter> parameters;
};

struct DictionaryMember {
  std::string key;
  bool is_list = false;
  std::vector<Item> items;            // one, if it is no list
  std::vector<Parameter> parameters;  // of the list

  // The parameter of the list or the item; null: none has this key.
  [[nodiscard]] const BareItem* parameter(std::string_view name) const;
  // The list as section 4.1.1.1 writes it.
  [[nodiscard]] std::string list_text() const;
};

inline constexpr size_t kMaxEntries = 64;
inline constexpr size_t kMaxInAll = 256;

enum class FieldError : uint8_t { malformed, too_many };

tl::expected<std::vector<DictionaryMember>, FieldError> parse_dictionary(std::string_view text);

inline constexpr size_t kMaxNonce = 256;  // bytes

// Why a signature does not count.
struct SignatureError {
  bool is_malformed = false;  // else it could be read, and is not enough
  std::string_view message;   // a constant, for people
};

// Nothing: the request is not signed. `origin`: scheme and authority that clients use, and what
// they have in front of the paths here.
tl::expected<std::optional<auth::MessageSignature>, SignatureError> read_signature(
    const RequestHead& head, std::string_view origin);

// The signature base (section 2.5) of the signature that `input` describes.
tl::expected<std::string, SignatureError> signature_base(const DictionaryMember& input,
                                                         const RequestHead& head,
                                                         std::string_view origin);

// Whether `body` is what Content-Digest says (RFC 9530), by all digests that are known here and at
// least one. Without that field: whether it is empty.
bool is_digest_right(const RequestHead& head, std::span<const char> body);

}  // namespace stdgate::http
