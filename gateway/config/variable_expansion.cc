// ${NAME} and ${NAME:-default} in a configuration value.
#include "gateway/config/variable_expansion.h"

namespace stdgate::config {
namespace {

bool is_variable_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

// `reference` is what stands between the braces.
tl::expected<std::string, std::string> look_up(std::string_view reference,
                                               const Environment& environment) {
  const size_t colon = reference.find(":-");
  const std::string name(reference.substr(0, colon));
  if (!is_variable_name(name)) {
    return tl::unexpected("'${" + std::string(reference) +
                          "}' names no variable; write ${NAME}, ${NAME:-default}, or $$ for a "
                          "dollar sign");
  }
  std::optional<std::string> value = environment(name);
  if (colon == std::string_view::npos) {
    if (value) return *std::move(value);
    return tl::unexpected("environment variable '" + name + "' is not set; set it, or write ${" +
                          name + ":-default}");
  }
  if (value && !value->empty()) return *std::move(value);
  return std::string(reference.substr(colon + 2));
}

}  // namespace

tl::expected<std::string, std::string> expand_variables(std::string_view text,
                                                        const Environment& environment) {
  std::string expanded;
  size_t at = 0;
  while (at < text.size()) {
    const size_t dollar = std::min(text.find('$', at), text.size());
    expanded += text.substr(at, dollar - at);
    at = dollar;
    if (at == text.size()) break;
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (next != '{') {
      expanded += '$';
      at += next == '$' ? 2 : 1;
      continue;
    }
    const size_t close = text.find('}', at);
    if (close == std::string_view::npos) {
      return tl::unexpected(
          std::string("'${' without '}'; write ${NAME}, ${NAME:-default}, or $$ for a dollar "
                      "sign"));
    }
    auto value = look_up(text.substr(at + 2, close - at - 2), environment);
    if (!value) return value;
    expanded += *value;
    at = close + 1;
  }
  return expanded;
}

std::string escape_variables(std::string_view text) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    escaped += text[i];
    if (text[i] != '$' || i + 1 == text.size()) continue;
    if (text[i + 1] == '$' || text[i + 1] == '{') escaped += '$';
  }
  return escaped;
}

}  // namespace stdgate::config
