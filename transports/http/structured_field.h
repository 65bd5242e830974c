// Dictionaries of structured fields (RFC 9651 section 3.2), as far as signatures and digests use
// them: strings, tokens, integers, byte sequences and booleans, and lists of them. Pure.
//
// Stricter than the RFC: a key that stands there twice is an error, as peers may take either.
// Limits: kMaxEntries members of a dictionary, items of a list, and parameters of each; kMaxInAll
// of all of these. Keys are compared with each other, and any client can send a field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::http {

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

}  // namespace stdgate::http
