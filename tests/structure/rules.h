// The rules of the source tree (rules.cc), of its pages (pages.cc), and of the limits and names
// that pages say (limits.cc). Pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate {

// --- Sources: who may include whom, and what no file may hold
//
// Each function maps a path and a text of a file to its violations. The tables are in rules.cc; a
// new folder or library needs a line there.

// `path` is relative to the root of the project ("gateway/rpc/envelope.cc"). Each violation is one
// line of text that begins with the path.
std::vector<std::string> violations_of_file(std::string_view path, std::string_view text);

// Violations by what belongs to one machine: `checkout`, where the project lies there (absolute); a
// folder at the top of its file system that other systems do not have; and the host of a package
// registry or mirror. For files of any kind.
std::vector<std::string> machine_names_in_file(std::string_view path, std::string_view text,
                                               std::string_view checkout);

// Files that use integers of fixed width (uint8_t) and include <cstdint> neither themselves nor by
// what they include of the project. Such a file compiles by luck: headers of the standard library
// include <cstdint> in some releases of a compiler only. `sources`: all texts by their paths.
std::vector<std::string> integers_by_luck(const std::map<std::string, std::string>& sources);

// Headers that have more than kMaxClassLines with their sources: a class of that size wants to be
// two. `sources`: all texts by their paths; what lies in tests/ may be longer.
inline constexpr size_t kMaxClassLines = 700;
std::vector<std::string> long_classes(const std::map<std::string, std::string>& sources);

// Whether the top folder may hold an entry of this name.
bool allowed_at_top(std::string_view name);

// --- The rules of the pages (*.md): what they link to and name exists, and decisions are numbered
// and listed
//
// Pure functions from the texts of all pages and the paths of all files to what is wrong. Paths are
// relative to the root of the project. Each violation is one line of text that begins with the
// page's path.

struct Pages {
  std::map<std::string, std::string> texts;  // of the pages, by path
  std::set<std::string> files;               // pages and all others
};

// The anchors of a page's headings, as GitHub makes them: "## The life of a request" is
// "the-life-of-a-request"; the second of a name ends in "-1".
std::set<std::string> anchors_of(std::string_view page);

// Links within the project whose file or anchor does not exist. Code is not looked at.
std::vector<std::string> broken_links(const Pages& pages);

// Files in backticks that do not exist: paths from the root ("gateway/pool/pool.cc", "deploy/run"),
// and names of sources ("fault.cc"), which may be in any folder. CHANGELOG.md is exempt, as it
// names what was.
std::vector<std::string> missing_files(const Pages& pages);

// Keys of the configuration in backticks (`limits.message`) that docs/configuration.md lacks, but
// in CHANGELOG.md.
std::vector<std::string> unknown_keys(const Pages& pages);

// What is wrong with docs/decisions: a page without number, date or state, a number that is not
// that of its file or that two pages have, a page that the table in docs/decisions/README.md lacks
// or calls otherwise, a table whose rows are not in order. Numbers may have gaps: a decision that
// no longer holds is folded into the one that does.
std::vector<std::string> decision_faults(const Pages& pages);

// --- The rules of pages that name what the sources define: docs/limits.md gives each constant's
// value, and the classes that ARCHITECTURE.md and docs/glossary.md name exist
//
// Pure functions from a page and the texts of all sources, by path, to what is wrong: lines of
// text.

using Sources = std::map<std::string, std::string>;

// Constants that the page names as `kName`, `Class::kName` or `namespace::kName` with the value in
// front: "64 KiB (`StderrLog::kMaxLine`)". Each is defined once, and has that value. Sizes are
// bytes, KiB or MiB, times are ms or s.
std::vector<std::string> limit_faults(std::string_view page, const Sources& sources);

// Types that the page names in backticks, as `Call` or `Chain::finish()`, and that no source
// declares.
std::vector<std::string> unknown_types(std::string_view page, const Sources& sources);

// lines_of(): the lines of a file, as views into its text and without their ends.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace stdgate
