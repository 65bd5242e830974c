// The text of a YAML file before and beside its parser.
#include "gateway/config/yaml_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "gateway/base/encodings.h"

namespace stdgate::config {
namespace {

constexpr std::string_view kOpening = "[{";
constexpr std::string_view kClosing = "]}";

struct Place {
  int line = 1;
  int column = 1;
  char what = '\0';  // the character that stands there
};

std::string_view without_mark(std::string_view yaml) {
  if (yaml.starts_with(kByteOrderMark)) yaml.remove_prefix(kByteOrderMark.size());
  return yaml;
}

Place place_of(std::string_view yaml, size_t at) {
  const std::string_view before = yaml.substr(0, at);
  const size_t last = before.rfind('\n');
  return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          static_cast<int>(last == std::string_view::npos ? at + 1 : at - last), '\0'};
}

ConfigError error_at(const Place& place, std::string message) {
  return {place.line, place.column, "", std::move(message)};
}

std::string_view line_at(std::string_view yaml, int line) {
  for (; line > 1 && !yaml.empty(); --line) {
    yaml.remove_prefix(std::min(yaml.find('\n'), yaml.size() - 1) + 1);
  }
  return yaml.substr(0, yaml.find('\n'));
}

// Behind the closing quote, or npos. In single quotes '' is a quote, in double quotes \" is.
size_t end_of_quoted(std::string_view text, size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || text.substr(at + 1, 1) != "'") return at + 1;
      ++at;
    }
  }
  return std::string_view::npos;
}

// Finds open quotes and brackets in a text that the parser could not read: marks at the beginning
// of a value, line by line.
class OpenMarks {
 public:
  // Reads the lines up to `last`.
  OpenMarks(std::string_view yaml, int last) {
    for (int line = 1; line <= last && !yaml.empty(); ++line) {
      const size_t end = std::min(yaml.find('\n'), yaml.size());
      read_line(yaml.substr(0, end), line);
      yaml.remove_prefix(std::min(end + 1, yaml.size()));
    }
  }

  // The first quote without another one on its line.
  [[nodiscard]] const std::optional<Place>& quote() const { return quote_; }
  // The innermost bracket that is open at the end.
  [[nodiscard]] std::optional<Place> bracket() const {
    return brackets_.empty() ? std::nullopt : std::optional(brackets_.back());
  }

 private:
  void read_line(std::string_view line, int number) {
    bool begins_value = true;
    for (size_t at = 0; at < line.size(); ++at) {
      const char c = line[at];
      const bool in_brackets = !brackets_.empty();
      const bool after_space = at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t';
      if (c == '#' && after_space) return;
      if (c == ' ' || c == '\t' || c == '\r') continue;
      if ((c == '"' || c == '\'') && begins_value) {
        const size_t end = end_of_quoted(line, at);
        if (end == std::string_view::npos) {
          if (!quote_) quote_ = Place{number, static_cast<int>(at) + 1, c};
          return;
        }
        at = end - 1;
        begins_value = false;
      } else if (kOpening.find(c) != std::string_view::npos && (begins_value || in_brackets)) {
        brackets_.push_back({number, static_cast<int>(at) + 1, c});
        begins_value = true;
      } else if (kClosing.find(c) != std::string_view::npos && in_brackets) {
        brackets_.pop_back();
        begins_value = false;
      } else {
        const bool ends_word = at + 1 == line.size() || line[at + 1] == ' ' || in_brackets;
        begins_value = (c == ':' && ends_word) || (c == ',' && in_brackets) ||
                       (c == '-' && begins_value && ends_word);
      }
    }
  }

  std::optional<Place> quote_;
  std::vector<Place> brackets_;
};

struct Explanation {
  std::string_view message;  // how the parser's begins
  std::string_view words;
};

constexpr std::string_view kBelongsNowhere =
    "this line belongs to nothing above it: entries of one map, and items of one list, begin in "
    "the "
    "same column";
constexpr std::array kExplanations{
    Explanation{"end of map not found", kBelongsNowhere},
    Explanation{"end of sequence not found", kBelongsNowhere},
    Explanation{
        "illegal map value",
        "a ':' that no value can follow here; check the indentation and the line above, and "
        "quote a text that holds \": \""},
    Explanation{"illegal map key", "a '?' or key that cannot stand here; check the indentation"},
    Explanation{"illegal block entry",
                "a list's '-' that cannot stand here; check the indentation and the line above"},
    Explanation{"illegal flow end", "this bracket closes none that is open"},
    Explanation{"unknown token", "a text cannot begin with this character; put it in quotes"},
    Explanation{
        "unknown escape character",
        "a backslash between double quotes begins an escape; write \\\\ for a backslash, or "
        "use single quotes"},
    Explanation{"alias not found", "a text that begins with '*' needs quotes"},
    Explanation{"the referenced anchor is not defined", "a text that begins with '*' needs quotes"},
    Explanation{"anchor not found", "a text that begins with '&' needs quotes"},
};

bool is_utf16(std::string_view yaml) {
  return yaml.starts_with("\xff\xfe") || yaml.starts_with("\xfe\xff");
}

bool is_allowed_control(char c) { return c == '\t' || c == '\n' || c == '\r'; }

std::string hex_of(uint8_t byte) {
  constexpr char kHex[] = "0123456789abcdef";
  return {'0', 'x', kHex[byte >> 4], kHex[byte & 15]};
}

// A tab in front of the first word of a line that the parser stumbled over, or the one before.
std::optional<Place> find_tab(std::string_view yaml, int line) {
  for (const int number : {line, line - 1}) {
    if (number < 1) continue;
    const std::string_view text = line_at(yaml, number);
    const size_t indentation = std::min(text.find_first_not_of(" \t"), text.size());
    const size_t tab = text.substr(0, indentation).find('\t');
    if (tab != std::string_view::npos) return Place{number, static_cast<int>(tab) + 1, '\t'};
  }
  return std::nullopt;
}

// Whether a ${NAME} stands in the line without quotes.
bool has_bare_variable(std::string_view yaml, int line) {
  const std::string_view text = line_at(yaml, line);
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "${") return true;
    if (text[at] != '"' && text[at] != '\'') continue;
    const size_t end = end_of_quoted(text, at);
    if (end == std::string_view::npos) return false;
    at = end - 1;
  }
  return false;
}

}  // namespace

std::optional<ConfigError> check_yaml_bytes(std::string_view yaml) {
  if (is_utf16(yaml)) return ConfigError{1, 1, "", "the file is UTF-16; save it as UTF-8"};
  yaml = without_mark(yaml);
  for (size_t at = 0; at < yaml.size();) {
    const auto byte = static_cast<uint8_t>(yaml[at]);
    if ((byte < 0x20 && !is_allowed_control(yaml[at])) || byte == 0x7f) {
      return error_at(place_of(yaml, at), "a control character (" + hex_of(byte) +
                                              "); is this a text file? In double quotes an escape "
                                              "like \\x1b stands for one");
    }
    const size_t size = utf8_sequence_size(yaml.substr(at));
    if (size == 0) {
      return error_at(place_of(yaml, at),
                      "the file is not UTF-8 (byte " + hex_of(byte) + "); save it as UTF-8");
    }
    at += size;
  }
  return std::nullopt;
}

ConfigError explain_yaml_error(std::string_view yaml, int line, int column,
                               const std::string& message) {
  yaml = without_mark(yaml);
  if (const auto tab = find_tab(yaml, line)) {
    return error_at(*tab, "a tab cannot indent in YAML; use spaces");
  }
  const OpenMarks open(yaml, line);
  if (const auto& quote = open.quote()) {
    return error_at(*quote, std::string("the quote (") + quote->what +
                                ") that opens here is not closed on its line");
  }
  if (message.find("flow not found") != std::string::npos && has_bare_variable(yaml, line)) {
    return {line, column, "",
            "within { } and [ ] a ${NAME} needs quotes, as in { A: \"${NAME}\" }, as its bracket "
            "ends the map otherwise"};
  }
  const auto bracket = open.bracket();
  if (bracket && message.find("flow not found") != std::string::npos) {
    return error_at(*bracket,
                    std::string("the '") + bracket->what + "' that opens here is not closed");
  }
  for (const Explanation& explanation : kExplanations) {
    if (message.starts_with(explanation.message)) {
      return {line, column, "", std::string(explanation.words)};
    }
  }
  return {line, column, "", "YAML: " + message};
}

bool is_quote_closed(std::string_view yaml, size_t at) {
  yaml = without_mark(yaml);
  if (at >= yaml.size() || (yaml[at] != '"' && yaml[at] != '\'')) return true;
  return end_of_quoted(yaml, at) != std::string_view::npos;
}

}  // namespace stdgate::config
