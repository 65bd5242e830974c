#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <regex>

#include "tests/structure/rules.h"

namespace stdgate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kChangelog = "CHANGELOG.md";
constexpr std::string_view kConfiguration = "docs/configuration.md";
constexpr std::string_view kDecisions = "docs/decisions/";
constexpr std::string_view kTable = "docs/decisions/README.md";

// The lines outside of fenced code blocks.
std::vector<std::string_view> prose_of(std::string_view page) {
  std::vector<std::string_view> prose;
  bool in_code = false;
  for (const std::string_view line : lines_of(page)) {
    if (line.starts_with("```")) {
      in_code = !in_code;
    } else if (!in_code) {
      prose.push_back(line);
    }
  }
  return prose;
}

struct Spans {
  std::string text;               // the prose, without code
  std::vector<std::string> code;  // the texts in backticks
};

// A code span may continue in the next line.
Spans spans_of(std::string_view page) {
  Spans spans;
  bool in_code = false;
  for (const std::string_view line : prose_of(page)) {
    for (const char c : line) {
      if (c == '`') {
        in_code = !in_code;
        if (in_code) {
          spans.code.emplace_back();
        }
      } else {
        (in_code ? spans.code.back() : spans.text) += c;
      }
    }
    if (line.empty()) {
      in_code = false;  // a span ends with its paragraph
    }
    (in_code ? spans.code.back() : spans.text) += '\n';
  }
  return spans;
}

// The anchor of a heading's text, before it is made unique.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '-' || byte >= 0x80) {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::vector<std::string> link_targets(std::string_view page) {
  static const std::regex kForm(R"(\]\(([^()\s]+)\))");
  const std::string text = spans_of(page).text;
  std::vector<std::string> targets;
  for (std::sregex_iterator match(text.begin(), text.end(), kForm), end; match != end; ++match) {
    targets.push_back((*match)[1]);
  }
  return targets;
}

bool is_elsewhere(std::string_view target) {
  return target.find("://") != target.npos || target.starts_with("mailto:");
}

bool exists(const Pages& pages, std::string path) {
  if (pages.files.contains(path)) {
    return true;
  }
  if (!path.ends_with('/')) {
    path += '/';
  }
  const auto inside = pages.files.lower_bound(path);
  return inside != pages.files.end() && inside->starts_with(path);
}

// Why a link's target in the page `path` is invalid; empty: it is valid.
std::string link_fault(const Pages& pages, const std::string& path, const std::string& target) {
  const size_t hash = std::min(target.find('#'), target.size());
  std::string file = path;
  if (hash > 0) {
    file = (fs::path(path).parent_path() / target.substr(0, hash)).lexically_normal().string();
  }
  if (!exists(pages, file)) {
    return "links to " + target + ", which does not exist";
  }
  const auto page = pages.texts.find(file);
  if (hash < target.size() &&
      (page == pages.texts.end() || !anchors_of(page->second).contains(target.substr(hash + 1)))) {
    return "links to " + target + ", a heading that does not exist";
  }
  return "";
}

// The file that a code span names, without arguments behind it; empty: it names no file.
std::string file_named_by(const std::string& code) {
  static const std::regex kPath(
      R"(^(?:gateway|transports|metrics|tests|deploy|docs)/[A-Za-z0-9_./-]+)");
  static const std::regex kSource(R"(^[a-z0-9_]+\.(?:cc|h)$)");
  std::smatch match;
  if (std::regex_match(code, match, kSource)) {
    return code;
  }
  if (!std::regex_search(code, match, kPath)) {
    return "";
  }
  // A pattern or placeholder does not name a single file.
  const std::string& rest = match.suffix();
  return rest.empty() || rest.starts_with(' ') ? match.str() : "";
}

bool is_somewhere(const Pages& pages, const std::string& name) {
  return name.find('/') != name.npos
             ? exists(pages, name)
             : std::any_of(pages.files.begin(), pages.files.end(), [&](const std::string& file) {
                 return fs::path(file).filename() == name;
               });
}

// "limits.message" for a row `message` in the section `limits`, and "pool.max" for a row `max` in
// `backends.<name>.pool`.
std::set<std::string> keys_of(std::string_view reference) {
  static const std::regex kSection(R"(^## `(?:[^`]*\.)?([a-z]+)`$)");
  static const std::regex kRow(R"(^\| `([a-z_]+)` \|.*)");
  std::set<std::string> keys;
  std::string section;
  for (const std::string_view line : prose_of(reference)) {
    std::cmatch match;
    if (std::regex_match(line.data(), line.data() + line.size(), match, kSection)) {
      section = match[1];
    } else if (std::regex_match(line.data(), line.data() + line.size(), match, kRow)) {
      keys.insert(section + "." + match[1].str());
    }
  }
  return keys;
}

// The key that a code span names, without a value behind it; empty: it names no key.
std::string key_named_by(const std::string& code) {
  static const std::regex kForm(
      R"(^((?:limits|timeouts|pool|rlimits|log|metrics)\.[a-z_]+)(?::.*)?$)");
  std::smatch match;
  return std::regex_match(code, match, kForm) ? match[1].str() : "";
}

// A row of the table of decisions: "| 7 | [title](0007-file.md) | date |".
std::string row_of(std::string_view file, std::string_view number, std::string_view title,
                   std::string_view date) {
  std::string row = "| ";
  row.append(number).append(" | [").append(title).append("](").append(file);
  return row.append(") | ").append(date).append(" |");
}

// `number` is set to the number of the page.
std::string decision_fault(std::string_view path, std::string_view page, std::string_view table,
                           size_t& number) {
  static const std::regex kForm(
      R"(^# (\d+)\. ([^\n]+)\n\n(\d{4}-\d\d-\d\d) · (proposed|accepted)\n\n)");
  std::cmatch match;
  if (!std::regex_search(page.data(), page.data() + page.size(), match, kForm)) {
    return "does not begin with its number and title, then date and state";
  }
  std::string name = match[1];
  number = std::stoul(name);
  name.insert(0, 4 - std::min<size_t>(name.size(), 4), '0');
  const std::string_view file = path.substr(kDecisions.size());
  if (!file.starts_with(name + "-")) {
    return "is number " + match[1].str() + ", unlike its file";
  }
  const std::string row = row_of(file, match[1].str(), match[2].str(), match[3].str());
  const std::vector<std::string_view> lines = lines_of(table);
  if (std::find(lines.begin(), lines.end(), row) == lines.end()) {
    return "is not listed in " + std::string(kTable) + " as: " + row;
  }
  return "";
}

// The numbers in the rows of the table, in their order.
std::vector<size_t> rows_of(std::string_view table) {
  static const std::regex kRow(R"(^\| (\d+) \| \[.*)");
  std::vector<size_t> numbers;
  for (const std::string_view line : lines_of(table)) {
    std::cmatch match;
    if (std::regex_match(line.data(), line.data() + line.size(), match, kRow)) {
      numbers.push_back(std::stoul(match[1]));
    }
  }
  return numbers;
}

}  // namespace

std::set<std::string> anchors_of(std::string_view page) {
  std::set<std::string> anchors;
  for (const std::string_view line : prose_of(page)) {
    const size_t level = std::min(line.find_first_not_of('#'), line.size());
    if (level == 0 || level > 6 || level == line.size() || line[level] != ' ') {
      continue;
    }
    const std::string name = anchor_of(line.substr(level + 1));
    std::string anchor = name;
    for (int more = 1; !anchors.insert(anchor).second; ++more) {
      anchor = name + "-" + std::to_string(more);
    }
  }
  return anchors;
}

std::vector<std::string> broken_links(const Pages& pages) {
  std::vector<std::string> violations;
  for (const auto& [path, text] : pages.texts) {
    for (const std::string& target : link_targets(text)) {
      const std::string fault = is_elsewhere(target) ? "" : link_fault(pages, path, target);
      if (!fault.empty()) {
        violations.push_back(path + ": " + fault);
      }
    }
  }
  return violations;
}

std::vector<std::string> missing_files(const Pages& pages) {
  std::vector<std::string> violations;
  for (const auto& [path, text] : pages.texts) {
    if (path == kChangelog) {
      continue;
    }
    for (const std::string& code : spans_of(text).code) {
      const std::string file = file_named_by(code);
      if (!file.empty() && !is_somewhere(pages, file)) {
        violations.push_back(path + ": names " + file + ", which does not exist");
      }
    }
  }
  return violations;
}

std::vector<std::string> unknown_keys(const Pages& pages) {
  const auto reference = pages.texts.find(std::string(kConfiguration));
  const std::set<std::string> keys =
      reference == pages.texts.end() ? std::set<std::string>() : keys_of(reference->second);
  std::vector<std::string> violations;
  for (const auto& [path, text] : pages.texts) {
    if (path == kChangelog) {
      continue;
    }
    for (const std::string& code : spans_of(text).code) {
      const std::string key = key_named_by(code);
      if (!key.empty() && !keys.contains(key)) {
        violations.push_back(path + ": names the key " + key + ", which does not exist");
      }
    }
  }
  return violations;
}

std::vector<std::string> decision_faults(const Pages& pages) {
  const auto found = pages.texts.find(std::string(kTable));
  const std::string_view table = found == pages.texts.end() ? std::string_view() : found->second;
  std::vector<std::string> violations;
  std::set<size_t> numbers;
  for (const auto& [path, text] : pages.texts) {
    if (!path.starts_with(kDecisions) || path == kTable) {
      continue;
    }
    size_t number = 0;
    const std::string fault = decision_fault(path, text, table, number);
    if (!fault.empty()) {
      violations.push_back(path + ": " + fault);
    } else if (!numbers.insert(number).second) {
      violations.push_back(path + ": has the number of another page");
    }
  }
  const std::vector<size_t> rows = rows_of(table);
  if (std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) != rows.end()) {
    violations.push_back(std::string(kTable) + ": its rows are not in the order of their numbers");
  }
  return violations;
}

}  // namespace stdgate
