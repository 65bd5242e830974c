#include "gateway/config/environment_variables.h"

#include <algorithm>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/config/config.h"
#include "gateway/config/config_ranges.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// A file of environment variables, in the common subset of docker's and dotenv's formats.
namespace {

constexpr std::string_view kBlank = " \t";
constexpr std::string_view kExport = "export";

std::string_view skip_blank(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlank), text.size()));
}

std::string_view trim_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

bool is_blank_or_comment(std::string_view text) {
  text = skip_blank(text);
  return text.empty() || text.front() == '#';
}

bool is_name(std::string_view name) {
  return !name.empty() && (name[0] < '0' || name[0] > '9') &&
         name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
             "_.-") == std::string_view::npos;
}

// The character for a backslash and `c` between double quotes.
std::string unescape(char c) {
  switch (c) {
    case 'n':
      return "\n";
    case 'r':
      return "\r";
    case 't':
      return "\t";
    case '"':
    case '\\':
    case '$':
      return {c};
    default:
      return {'\\', c};
  }
}

using Result = tl::expected<std::string, std::string>;

// `text` begins with its quote.
Result read_quoted(std::string_view text) {
  const char quote = text.front();
  std::string value;
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] == quote) {
      if (is_blank_or_comment(text.substr(at + 1))) return value;
      return tl::unexpected(std::string("only a comment may stand behind the closing quote"));
    }
    if (quote == '"' && text[at] == '\\' && at + 1 < text.size()) {
      value += unescape(text[++at]);
    } else {
      value += text[at];
    }
  }
  return tl::unexpected(
      std::string("the value's quote is not closed on its line; \"\\n\" between "
                  "double quotes is a line feed"));
}

// A comment begins with '#' at the front, or behind a blank.
std::string_view without_comment(std::string_view text) {
  for (size_t at = 0; (at = text.find('#', at)) != std::string_view::npos; ++at) {
    if (at == 0 || kBlank.find(text[at - 1]) != std::string_view::npos) return text.substr(0, at);
  }
  return text;
}

Result read_value(std::string_view text) {
  text = skip_blank(text);
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) return read_quoted(text);
  return std::string(trim_end(without_comment(text)));
}

// The name in front of '=', without `export`.
std::string_view read_name(std::string_view text) {
  text = trim_end(skip_blank(text));
  if (text.starts_with(kExport) && text.find_first_of(kBlank) == kExport.size()) {
    text = skip_blank(text.substr(kExport.size()));
  }
  return text;
}

// Adds what the line sets. The error is what is wrong with it.
tl::expected<void, std::string> read_line(std::string_view line,
                                          std::map<std::string, std::string>& variables) {
  const auto fail = [](std::string message) { return tl::unexpected(std::move(message)); };
  if (line.find('\0') != std::string_view::npos) return fail("must not hold a NUL byte");
  if (is_blank_or_comment(line)) return {};
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return fail("expected NAME=VALUE");
  const std::string_view name = read_name(line.substr(0, equals));
  if (!is_name(name)) {
    return fail(
        "expected NAME=VALUE; a name has letters, digits, '_', '.' and '-', and begins with no "
        "digit");
  }
  auto value = read_value(line.substr(equals + 1));
  if (!value) return fail(std::string(name) + ": " + value.error());
  variables.insert_or_assign(std::string(name), *std::move(value));
  return {};
}

}  // namespace

std::vector<std::string> usual_variables() {
  return {"PATH",
          "HOME",
          "USER",
          "LOGNAME",
          "SHELL",
          "TERM",
          "LANG",
          "LC_ALL",
          "TZ",
          "TMPDIR",
          "SSL_CERT_FILE",
          "SSL_CERT_DIR",
          "NODE_EXTRA_CA_CERTS"};
}

tl::expected<std::map<std::string, std::string>, std::vector<EnvFileError>> parse_env_file(
    std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::map<std::string, std::string> variables;
  std::vector<EnvFileError> errors;
  for (int number = 1; !text.empty() && errors.size() < kMaxEnvFileErrors; ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto read = read_line(line, variables); !read) {
      errors.push_back({number, std::move(read.error())});
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return variables;
}

namespace {

// The variables of the file; nothing after errors, which have been recorded.
std::optional<std::map<std::string, std::string>> read_env_file(const Value& item,
                                                                const std::string& file) {
  if (file.empty()) {
    item.fail("expected the path of a file");
    return std::nullopt;
  }
  const auto content = item.read_file(file, kMaxEnvFile);
  if (!content) return std::nullopt;
  auto variables = parse_env_file(*content);
  if (variables) return *std::move(variables);
  for (const EnvFileError& error : variables.error()) {
    item.fail(file + ":" + std::to_string(error.line) + ": " + error.message);
  }
  return std::nullopt;
}

// Empty when `name` is a variable's name or a prefix.
std::string wrong_with_name(const std::string& name) {
  if (name.starts_with(kInheritOnly)) {
    return name == kInheritOnly
               ? "\"!\" must be the first entry: it stands for \"not the default list\""
               : "\"!\" must be an entry of its own, the first one; write the wanted names as "
                 "further entries";
  }
  if (name.empty()) return "expected a variable's name (\"!\" needs its quotes)";
  const size_t star = name.find('*');
  const bool is_name =
      name.find('=') == std::string::npos && (star == std::string::npos || star + 1 == name.size());
  return is_name ? "" : "expected a variable's name, or a prefix that ends in '*'";
}

// The value that is or names the text; nothing after an error.
std::optional<Value> file_of(const Value& entry) {
  Section section(entry);
  auto file = section.find("file");
  if (!file) section.fail("file", "missing; name the file, or write the value as a text");
  section.finish();
  return file;
}

}  // namespace

bool read_variable(const Value& entry, std::map<std::string, std::string>& values,
                   std::map<std::string, VariableSource>& sources) {
  const bool is_file = entry.is_map();
  const auto written = is_file ? file_of(entry) : entry;
  if (!written) return false;
  if (written->is_scalar() && principal_use(written->spelled()).any()) {
    VariableSource& source = sources[entry.name()];
    source = {written->spelled(), is_file, true};
    const auto sample = for_principal(source, {"sample", "sample"}, written->environment());
    if (!sample) written->fail(sample.error());
    return sample.has_value();
  }
  auto text = is_file ? written->path_text() : written->text();
  if (!text) return false;
  if (is_file) {
    sources[entry.name()] = {*text, true, false};
    text = written->variable_file(*text);
    if (!text) return false;
  }
  values.emplace(entry.name(), *std::move(text));
  return true;
}

bool read_env_files(const Value& value, size_t max_files, std::vector<std::string>& files,
                    std::map<std::string, std::string>& variables) {
  const auto items = value.is_scalar() ? std::vector<Value>{value} : value.list();
  if (!items) return false;
  if (items->size() > max_files) {
    value.fail("expected at most " + std::to_string(max_files) + " files");
    return false;
  }
  bool good = true;
  for (const Value& item : *items) {
    auto file = item.path_text();
    const auto read = file ? read_env_file(item, *file) : std::nullopt;
    if (!read) {
      good = false;
      continue;
    }
    for (const auto& [name, text] : *read) variables[name] = text;
    files.push_back(*std::move(file));
  }
  return good;
}

bool read_inherited(const Value& value, std::vector<std::string>& names) {
  const auto items = value.list();
  if (!items) return false;
  bool good = true;
  bool is_first = true;
  for (const Value& item : *items) {
    auto name = item.text();
    if (!name) {
      good = false;
    } else if (is_first && *name == kInheritOnly) {
      names.clear();
    } else if (const std::string wrong = wrong_with_name(*name); !wrong.empty()) {
      item.fail(wrong + "; found " + item.found());
      good = false;
    } else if (std::find(names.begin(), names.end(), *name) == names.end()) {
      names.push_back(*std::move(name));
    }
    is_first = false;
  }
  return good;
}

std::vector<std::string> inherited_entries(std::vector<std::string> names) {
  const BackendConfig defaults;
  const std::vector<std::string>& usual = defaults.env_inherit;
  const bool adds =
      names.size() >= usual.size() && std::equal(usual.begin(), usual.end(), names.begin());
  if (!adds) names.insert(names.begin(), std::string(kInheritOnly));
  return names;
}

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
