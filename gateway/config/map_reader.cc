#include "gateway/config/map_reader.h"

#include <utility>

namespace stdgate::config {

namespace {

// Nothing: it is no map, or has too many members, and that has been said.
std::optional<std::vector<Value>> entries_of(const Value& value, size_t most) {
  auto entries = value.entries();
  if (!entries || entries->size() <= most) return entries;
  value.fail_at_key("at most " + std::to_string(most) + " of them");
  return std::nullopt;
}

}  // namespace

bool read_texts(const Value& value, size_t most, TextMapValue& out) {
  const auto entries = entries_of(value, most);
  if (!entries) return false;
  bool good = true;
  for (const Value& entry : *entries) {
    auto text = entry.text();
    good = good && text;
    out[entry.name()] = std::move(text).value_or(std::string());
  }
  return good;
}

bool read_text_lists(const Value& value, size_t most, const TextRule& rule, TextListsValue& out) {
  const auto entries = entries_of(value, most);
  if (!entries) return false;
  bool good = true;
  for (const Value& entry : *entries) {
    std::vector<std::string>& texts = out[entry.name()];
    const auto items = entry.list();
    good = good && items;
    for (const Value& item : items.value_or(std::vector<Value>())) {
      auto text = item.text();
      if (text && rule.accepts(*text)) {
        texts.push_back(*std::move(text));
        continue;
      }
      good = false;
      if (text) {
        item.fail("expected " + std::string(rule.expected) + "; found " + item.found());
      }
    }
  }
  return good;
}

bool read_arguments(const Value& value, size_t most, ToolArguments& out) {
  const auto tools = entries_of(value, most);
  if (!tools) return false;
  bool good = true;
  for (const Value& tool : *tools) {
    const auto arguments = tool.entries();
    good = good && arguments;
    if (arguments && arguments->empty()) {
      tool.fail_at_key("expected arguments and their values, as in { mode: create }");
      good = false;
    }
    for (const Value& argument : arguments.value_or(std::vector<Value>())) {
      auto json = argument.json();
      good = good && json;
      if (json) out[tool.name()][argument.name()] = *std::move(json);
    }
  }
  return good;
}

}  // namespace stdgate::config
