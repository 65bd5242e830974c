// Baggage: what a caller wants passed on to all that work on its call (W3C Baggage).
//
// Job: judge the header once. It is passed on as it came or not at all; what is malformed or longer
// than the limits is none. All calls of a request share one copy. Limits: kMaxBytes and
// kMaxMembers, those that have to be propagated (section 3.3.2).
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
  // `text`: of all fields of this name, joined by commas.
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
