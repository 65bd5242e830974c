// JsonValue: a JSON text whose values are looked up by JSON pointer (RFC 6901).
//
// Throws std::runtime_error at invalid JSON, and if there is no value of the wanted type at a
// pointer.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::harness {

class JsonValue {
 public:
  explicit JsonValue(std::string_view text);

  [[nodiscard]] bool has(std::string_view pointer) const;
  [[nodiscard]] std::string text(std::string_view pointer) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view pointer) const;
  [[nodiscard]] std::vector<std::string> names(std::string_view pointer) const;  // of an object
  [[nodiscard]] double number(std::string_view pointer) const;
  [[nodiscard]] bool flag(std::string_view pointer) const;
  [[nodiscard]] size_t size(std::string_view pointer) const;  // of an array or object

 private:
  [[nodiscard]] simdjson::dom::element at(std::string_view pointer) const;

  std::unique_ptr<simdjson::dom::parser> parser_;  // root_ refers to it
  simdjson::dom::element root_;
};

}  // namespace stdgate::harness
