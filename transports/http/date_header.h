// DateHeader: the value of the Date field (RFC 9110 section 5.6.7), written anew once a second.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gateway/base/time.h"

namespace stdgate::http {

class DateHeader {
 public:
  // `now` is the loop's time; the wall clock is read only when a second has passed since the last
  // look.
  std::string_view at(TimePoint now);

 private:
  static constexpr size_t kSize = sizeof("Sun, 06 Nov 1994 08:49:37 GMT") - 1;
  std::array<char, kSize> text_{};
  TimePoint valid_until_{};
};

// Writes the date of `seconds` since the epoch into `out`, 29 bytes.
void write_http_date(int64_t seconds, char* out);

}  // namespace stdgate::http
