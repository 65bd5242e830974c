#include "gateway/config/principal_variables.h"

#include <utility>

#include "gateway/config/config_ranges.h"
#include "gateway/config/variable_expansion.h"

namespace stdgate::config {

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
  // What is wrong with the text otherwise is found when it is expanded.
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
