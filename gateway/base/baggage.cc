#include "gateway/base/baggage.h"

#include <algorithm>
#include <utility>

#include "gateway/base/ascii.h"

namespace stdgate {

namespace {

// Whether `test` holds for all parts of `text` between separators, empty ones included.
template <class Test>
bool all_parts(std::string_view text, char separator, Test&& test) {
  for (;;) {
    const size_t end = text.find(separator);
    if (!test(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

// Section 3.3.1.3. The separators have been removed.
bool is_value(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return c > ' ' && c <= '~' && c != '"' && c != ',' && c != '\\'; });
}

// A property needs no value.
bool is_property(std::string_view text) {
  const size_t equals = std::min(text.find('='), text.size());
  return is_token(trim(text.substr(0, equals))) &&
         is_value(trim(text.substr(std::min(equals + 1, text.size()))));
}

bool is_member(std::string_view text) {
  const std::string_view pair = text.substr(0, text.find(';'));
  return pair.find('=') != std::string_view::npos && all_parts(text, ';', is_property);
}

bool is_baggage(std::string_view text) {
  if (text.size() > Baggage::kMaxBytes) return false;
  size_t members = 0;
  return all_parts(text, ',', [&members](std::string_view member) {
    return ++members <= Baggage::kMaxMembers && is_member(member);
  });
}

}  // namespace

Baggage::Baggage(std::string text) {
  if (is_baggage(text)) text_ = std::make_shared<const std::string>(std::move(text));
}

}  // namespace stdgate
