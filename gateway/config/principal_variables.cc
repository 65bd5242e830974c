#include "gateway/config/principal_variables.h"

#include <utility>

#include "gateway/config/config_ranges.h"

namespace stdgate::config {

// ${NAME} and ${NAME:-default} in a configuration value.
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

namespace {

constexpr std::string_view kName = "principal";
constexpr std::string_view kSource = "principal_source";

bool stands_in_file_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == '@';
}

std::string file_name_of(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string name;
  for (const char c : text) {
    if (stands_in_file_names(c) && !(c == '.' && name.empty())) {
      name += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      name.append(1, '%').append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
  }
  return name;
}

}  // namespace

std::string_view source_of_issuer(std::string_view issuer) {
  constexpr std::string_view kScheme = "https://";
  return issuer.starts_with(kScheme) ? issuer.substr(kScheme.size()) : issuer;
}

PrincipalUse principal_use(std::string_view text) {
  PrincipalUse use;
  // Other mistakes in the text show when it is expanded.
  static_cast<void>(expand_variables(text, [&use](const std::string& name) {
    use.name = use.name || name == kName;
    use.source = use.source || name == kSource;
    return std::optional<std::string>("x");
  }));
  return use;
}

tl::expected<std::string, std::string> for_principal(const VariableSource& source,
                                                     const PrincipalNames& principal,
                                                     const Environment& environment) {
  const auto text_of = [&source](const std::string& name) {
    return source.is_file ? file_name_of(name) : name;
  };
  auto text = expand_variables(source.text, [&](const std::string& name) {
    if (name == kName) return std::optional(text_of(principal.name));
    if (name == kSource) return std::optional(text_of(principal.source));
    return environment(name);
  });
  if (text && text->find('\0') != std::string::npos) {
    return tl::unexpected<std::string>("the principal's name holds a NUL byte");
  }
  return text;
}

tl::expected<std::string, std::string> read_variable_file(const std::string& file,
                                                          const FileReader& read_file) {
  if (!read_file) return tl::unexpected("cannot read " + file + " here");
  auto content = read_file(file, kMaxVariableFile);
  if (!content) return content;
  if (content->ends_with('\n')) content->pop_back();
  if (content->ends_with('\r')) content->pop_back();
  if (content->find('\0') == std::string::npos) return content;
  return tl::unexpected(file + " holds a NUL byte, which no variable can");
}

tl::expected<std::map<std::string, std::string>, std::string> variables_of_principal(
    const BackendConfig& config, const PrincipalNames& principal, const Environment& environment,
    const FileReader& read_file) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, source] : config.env_sources) {
    if (!source.of_principal) continue;
    auto text = for_principal(source, principal, environment);
    if (text && source.is_file) text = read_variable_file(*text, read_file);
    if (!text) return tl::unexpected(name + ": " + text.error());
    variables.emplace(name, *std::move(text));
  }
  return variables;
}

}  // namespace stdgate::config
