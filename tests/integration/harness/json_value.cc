#include "tests/integration/harness/json_value.h"

#include <stdexcept>

namespace stdgate::harness {
namespace {

template <class Type>
Type of_type(simdjson::simdjson_result<Type> value, std::string_view pointer) {
  if (value.error() != simdjson::SUCCESS) {
    throw std::runtime_error("json: at " + std::string(pointer) + ": " +
                             simdjson::error_message(value.error()));
  }
  return value.value_unsafe();
}

}  // namespace

JsonValue::JsonValue(std::string_view text) : parser_(std::make_unique<simdjson::dom::parser>()) {
  const auto error = parser_->parse(text.data(), text.size()).get(root_);
  if (error != simdjson::SUCCESS) {
    throw std::runtime_error(std::string("json: ") + simdjson::error_message(error) + ": " +
                             std::string(text));
  }
}

simdjson::dom::element JsonValue::at(std::string_view pointer) const {
  return of_type(root_.at_pointer(pointer), pointer);
}

bool JsonValue::has(std::string_view pointer) const {
  return root_.at_pointer(pointer).error() == simdjson::SUCCESS;
}

std::string JsonValue::text(std::string_view pointer) const {
  return std::string(of_type(at(pointer).get_string(), pointer));
}

std::vector<std::string> JsonValue::texts(std::string_view pointer) const {
  std::vector<std::string> items;
  for (const simdjson::dom::element item : of_type(at(pointer).get_array(), pointer)) {
    items.emplace_back(of_type(item.get_string(), pointer));
  }
  return items;
}

std::vector<std::string> JsonValue::names(std::string_view pointer) const {
  std::vector<std::string> names;
  for (const auto& member : of_type(at(pointer).get_object(), pointer)) {
    names.emplace_back(member.key);
  }
  return names;
}

double JsonValue::number(std::string_view pointer) const {
  return of_type(at(pointer).get_double(), pointer);
}

bool JsonValue::flag(std::string_view pointer) const {
  return of_type(at(pointer).get_bool(), pointer);
}

size_t JsonValue::size(std::string_view pointer) const {
  const simdjson::dom::element element = at(pointer);
  return element.is_object() ? of_type(element.get_object(), pointer).size()
                             : of_type(element.get_array(), pointer).size();
}

}  // namespace stdgate::harness
