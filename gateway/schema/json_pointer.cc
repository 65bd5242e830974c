#include "gateway/schema/json_pointer.h"

#include <charconv>

namespace stdgate::schema {

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
