#include "transports/http/date_header.h"

#include <chrono>
#include <cstring>
#include <ctime>

namespace stdgate::http {

namespace {

char* put(char* out, const char* text, size_t size) {
  std::memcpy(out, text, size);
  return out + size;
}

char* put_two_digits(char* out, int number) {
  *out++ = static_cast<char>('0' + number / 10);
  *out++ = static_cast<char>('0' + number % 10);
  return out;
}

}  // namespace

void write_http_date(int64_t seconds, char* out) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  out = put(out, &"SunMonTueWedThuFriSat"[3 * parts.tm_wday], 3);
  out = put(out, ", ", 2);
  out = put_two_digits(out, parts.tm_mday);
  *out++ = ' ';
  out = put(out, &"JanFebMarAprMayJunJulAugSepOctNovDec"[3 * parts.tm_mon], 3);
  *out++ = ' ';
  const int year = parts.tm_year + 1900;
  out = put_two_digits(put_two_digits(out, year / 100), year % 100);
  *out++ = ' ';
  out = put_two_digits(out, parts.tm_hour);
  *out++ = ':';
  out = put_two_digits(out, parts.tm_min);
  *out++ = ':';
  out = put_two_digits(out, parts.tm_sec);
  put(out, " GMT", 4);
}

std::string_view DateHeader::at(TimePoint now) {
  if (now >= valid_until_) {
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    write_http_date(std::chrono::duration_cast<std::chrono::seconds>(wall).count(), text_.data());
    valid_until_ = now + std::chrono::seconds(1);
  }
  return {text_.data(), text_.size()};
}

}  // namespace stdgate::http
