// MessageSignature: what a request says of its own signature (RFC 9421).
//
// A value. What it covers has been checked, and that it has these parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stdgate::auth {

struct MessageSignature {
  std::string key_id;
  std::string algorithm;           // empty: it says none
  int64_t created = 0;             // seconds since 1970
  std::optional<int64_t> expires;  // the same; nothing: it says none
  std::string nonce;
  std::string base;       // what is signed (section 2.5)
  std::string signature;  // decoded
};

}  // namespace stdgate::auth
