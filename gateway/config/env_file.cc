// A file of environment variables, in the common subset of docker's and dotenv's formats.
#include "gateway/config/env_file.h"

#include <algorithm>

#include "gateway/base/utf8.h"

namespace stdgate::config {
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

// What a backslash and `c` stand for between double quotes.
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

}  // namespace stdgate::config
