// Baggage: values that a caller wants passed on to every service that works on its call (W3C
// Baggage).
//
// Job: validate the header once. It is passed on unchanged or not at all: malformed or too long
// baggage counts as none. All calls of a request share one copy. Limits: kMaxBytes and kMaxMembers,
// the sizes that section 3.3.2 demands to propagate.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace stdgate {

class Baggage {
 public:
  static constexpr size_t kMaxBytes = 8192;
  static constexpr size_t kMaxMembers = 64;

  Baggage() = default;
  // `text`: the values of all fields of this name, joined by commas.
  explicit Baggage(std::string text);

  [[nodiscard]] bool is_none() const { return text_ == nullptr; }
  [[nodiscard]] std::string_view text() const {
    return is_none() ? std::string_view() : std::string_view(*text_);
  }

  friend bool operator==(const Baggage& a, const Baggage& b) { return a.text() == b.text(); }

 private:
  std::shared_ptr<const std::string> text_;  // null: none
};

}  // namespace stdgate
