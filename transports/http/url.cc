#include "transports/http/url.h"

namespace stdgate::http {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_decoded(std::string& out, std::string_view text, bool plus_is_space) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
}

}  // namespace

std::string_view percent_decode(std::string_view text, std::string& scratch) {
  if (text.find('%') == std::string_view::npos) return text;
  scratch.clear();
  append_decoded(scratch, text, false);
  return scratch;
}

std::optional<std::string> query_parameter(std::string_view query, std::string_view name) {
  std::string decoded;
  while (!query.empty()) {
    const size_t ampersand = query.find('&');
    const std::string_view pair = query.substr(0, ampersand);
    query.remove_prefix(ampersand == std::string_view::npos ? query.size() : ampersand + 1);
    const size_t equals = pair.find('=');
    decoded.clear();
    append_decoded(decoded, pair.substr(0, equals), true);
    if (decoded != name) continue;
    decoded.clear();
    if (equals != std::string_view::npos) append_decoded(decoded, pair.substr(equals + 1), true);
    return decoded;
  }
  return std::nullopt;
}

}  // namespace stdgate::http
