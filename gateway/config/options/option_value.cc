// An option's value as it is written.
#include "gateway/config/options/option_value.h"

namespace stdgate::config {
namespace {

std::string as_yaml_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

template <class Items, class Print>
std::string joined(const Items& items, Print print) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + print(item);
  return text;
}

struct TextPrinter {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const Number& value) const { return value.text; }
  std::string operator()(const Plain& value) const { return value.text; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<Number>& values) const {
    return joined(values, [](const Number& value) { return value.text; });
  }
  std::string operator()(const std::vector<std::string>& values) const {
    return joined(values, [](const std::string& value) { return value; });
  }
  std::string operator()(const std::map<std::string, std::string>& values) const {
    return joined(values, [](const auto& entry) { return entry.first + "=" + entry.second; });
  }
};

struct YamlPrinter : TextPrinter {
  using TextPrinter::operator();
  std::string operator()(const std::string& value) const { return as_yaml_string(value); }
  std::string operator()(const std::vector<Number>& values) const {
    return "[" + TextPrinter::operator()(values) + "]";
  }
  std::string operator()(const std::vector<std::string>& values) const {
    return "[" + joined(values, as_yaml_string) + "]";
  }
  std::string operator()(const std::map<std::string, std::string>& values) const {
    return "{" +
           joined(values,
                  [](const auto& entry) {
                    return as_yaml_string(entry.first) + ": " + as_yaml_string(entry.second);
                  }) +
           "}";
  }
};

}  // namespace

std::string text_of(const OptionValue& value) { return std::visit(TextPrinter(), value); }

std::string yaml_of(const OptionValue& value) { return std::visit(YamlPrinter(), value); }

}  // namespace stdgate::config
