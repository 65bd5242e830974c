#include "gateway/schema/schema_reference.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "gateway/base/text.h"

namespace stdgate::schema {

namespace {

struct Parts {
  std::string_view scheme;     // with its colon
  std::string_view authority;  // with its slashes
  std::string_view path;
  std::string_view query;  // with its question mark
};

size_t scheme_size(std::string_view uri) {
  const size_t end = uri.find_first_of(":/?#");
  return end == std::string_view::npos || uri[end] != ':' || end == 0 ? 0 : end + 1;
}

Parts split(std::string_view uri) {
  Parts parts;
  parts.scheme = uri.substr(0, scheme_size(uri));
  uri.remove_prefix(parts.scheme.size());
  const size_t query = std::min(uri.find('?'), uri.size());
  parts.query = uri.substr(query);
  uri = uri.substr(0, query);
  if (uri.starts_with("//")) parts.authority = uri.substr(0, uri.find('/', 2));
  parts.path = uri.substr(parts.authority.size());
  return parts;
}

// RFC 3986 section 5.2.4.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> segments;
  const bool is_rooted = path.starts_with('/');
  if (is_rooted) path.remove_prefix(1);
  for (;;) {
    const size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    const bool is_last = slash == std::string_view::npos;
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
      if (is_last) segments.emplace_back();
    } else if (segment != "." || is_last) {
      segments.push_back(segment == "." ? std::string_view() : segment);
    }
    if (is_last) break;
    path.remove_prefix(slash + 1);
  }
  std::string clean(is_rooted ? "/" : "");
  for (size_t i = 0; i < segments.size(); ++i) {
    if (i > 0) clean += '/';
    clean += segments[i];
  }
  return clean;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
            text.data() + i + 3) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

}  // namespace

Reference resolve_reference(std::string_view base, std::string_view reference) {
  Reference resolved;
  const size_t hash = reference.find('#');
  if (hash != std::string_view::npos) {
    resolved.fragment = percent_decoded(reference.substr(hash + 1));
    reference = reference.substr(0, hash);
  }
  if (reference.empty()) {
    resolved.uri = base;
    return resolved;
  }
  if (scheme_size(reference) > 0) {
    resolved.uri = reference;
    return resolved;
  }
  const Parts of_base = split(base);
  const Parts parts = split(reference);
  resolved.uri = of_base.scheme;
  if (!parts.authority.empty()) {
    resolved.uri.append(reference);
    return resolved;
  }
  resolved.uri.append(of_base.authority);
  if (parts.path.starts_with('/')) {
    resolved.uri.append(without_dots(parts.path));
  } else if (parts.path.empty()) {
    resolved.uri.append(of_base.path);
  } else {
    const size_t slash = of_base.path.rfind('/');
    std::string path(slash == std::string_view::npos ? std::string_view()
                                                     : of_base.path.substr(0, slash + 1));
    if (path.empty() && !of_base.authority.empty()) path = "/";
    resolved.uri.append(without_dots(path.append(parts.path)));
  }
  resolved.uri.append(parts.query);
  return resolved;
}

void append_pointer(std::string& pointer, std::string_view token) {
  pointer += '/';
  for (const char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

std::optional<ValueId> PointerIndex::follow(ValueId from, std::string_view pointer) {
  while (!pointer.empty()) {
    if (pointer[0] != '/') return std::nullopt;
    pointer.remove_prefix(1);
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    std::optional<ValueId> next;
    if (tree_.kind(from) == JsonKind::array) {
      next = element(from, token);
    } else {
      std::string key;
      for (size_t i = 0; i < token.size(); ++i) {
        const bool is_escape = token[i] == '~' && i + 1 < token.size();
        key += is_escape ? (token[++i] == '1' ? '/' : '~') : token[i];
      }
      next = member(from, key);
    }
    if (!next) return std::nullopt;
    from = *next;
  }
  return from;
}

std::optional<ValueId> PointerIndex::element(ValueId array, std::string_view token) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index, 10);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  if (index >= tree_.count(array)) return std::nullopt;
  if (tree_.count(array) <= kFew) {
    ValueId at = array + 1;
    for (; index > 0; --index) at = tree_.next(at);
    return at;
  }
  const auto [elements, is_new] = arrays_.try_emplace(array);
  if (is_new) {
    for (ValueId at = array + 1; at < tree_.next(array); at = tree_.next(at)) {
      elements->second.push_back(at);
    }
  }
  return elements->second[index];
}

std::optional<ValueId> PointerIndex::member(ValueId object, const std::string& key) {
  if (tree_.kind(object) != JsonKind::object) return std::nullopt;
  if (tree_.count(object) <= kFew) return tree_.find(object, key);
  const auto [members, is_new] = objects_.try_emplace(object);
  if (is_new) {
    std::string scratch;
    for (ValueId at = object + 1; at < tree_.next(object); at = tree_.next(at + 1)) {
      members->second.emplace(tree_.string(at, scratch), at + 1);
    }
  }
  const auto found = members->second.find(key);
  return found == members->second.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace stdgate::schema
