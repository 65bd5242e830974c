#include "gateway/policy/name_pattern.h"

#include <algorithm>

namespace stdgate::policy {

namespace {

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

int hex_value(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

bool is_letter_or_digit(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Whether a character is spelled with % that needs no such spelling, or that separates segments.
bool has_needless_percent(std::string_view uri) {
  constexpr std::string_view kOthers = "-._~/\\%";
  for (size_t at = uri.find('%'); at != std::string_view::npos; at = uri.find('%', at + 1)) {
    if (at + 2 >= uri.size() || !is_hex(uri[at + 1]) || !is_hex(uri[at + 2])) return true;
    const int code = 16 * hex_value(uri[at + 1]) + hex_value(uri[at + 2]);
    if (code < 0x20 || is_letter_or_digit(code) ||
        kOthers.find(static_cast<char>(code)) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// `path` stands behind the scheme and the authority. Some readers take the text behind ? or # for
// path too: odd segments count there as well, and segments that end at ? or #.
bool has_odd_segment(std::string_view path) {
  const size_t path_size = std::min(path.find_first_of("?#"), path.size());
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find_first_of("/?#", begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    if (segment == "." || segment == "..") return true;
    if (segment.empty() && end < path_size && path[end] == '/') return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;  // the last one passed
  size_t resumed = 0;                    // where what follows it was looked for last
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resumed = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resumed;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns,
                             [name](const std::string& one) { return matches(one, name); });
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxPlainName &&
         std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool is_plain_uri(std::string_view uri) {
  if (!is_plain_name(uri) || uri.find('\\') != std::string_view::npos) return false;
  const size_t colon = uri.find(':');
  const std::string_view scheme = uri.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (std::ranges::any_of(scheme, [](char c) { return c >= 'A' && c <= 'Z'; })) return false;
  std::string_view path = uri.substr(colon == std::string_view::npos ? 0 : colon + 1);
  if (path.starts_with("//")) {
    path.remove_prefix(2);
    path.remove_prefix(std::min(path.find('/'), path.size()));
  }
  if (path.starts_with('/')) path.remove_prefix(1);
  return !has_needless_percent(uri) && !has_odd_segment(path);
}

}  // namespace stdgate::policy
