// The rules for the source tree (rules.cc, bodies.cc), for its pages (pages.cc), and for limits and
// names in pages (limits.cc). Pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate {

// --- Sources: allowed includes, and forbidden contents
//
// Each function maps the path and text of a file to its violations. The tables are in rules.cc. A
// new folder or library needs a line there.

// `path` is relative to the root of the project ("gateway/rpc/envelope.cc"). Each violation is one
// line of text that begins with the path.
std::vector<std::string> violations_of_file(std::string_view path, std::string_view text);

// Violations by names that belong to a single machine: `checkout`, the project's absolute path
// there; a top-level folder that other systems do not have; and hosts of package registries or
// mirrors. For files of any kind.
std::vector<std::string> machine_names_in_file(std::string_view path, std::string_view text,
                                               std::string_view checkout);

// Files that use integers of fixed width (uint8_t) but include <cstdint> neither directly nor
// through the project's headers. Such a file compiles only if the standard library's headers happen
// to include <cstdint>, which depends on the compiler's release. `sources`: all texts by path.
std::vector<std::string> integers_by_luck(const std::map<std::string, std::string>& sources);

// Headers that have more than kMaxClassLines lines together with their sources, so that the class
// should be split. `sources`: all texts by path. Files in tests/ may be longer.
inline constexpr size_t kMaxClassLines = 700;
std::vector<std::string> long_classes(const std::map<std::string, std::string>& sources);

// Bodies of functions that have more than kMaxBodyLines of code in a header: headers are
// declarations. Comments and blank lines do not count. Templates may be longer below their class,
// and so may functions in the few headers that bodies.cc lists. `sources`: all texts by their
// paths; what lies in tests/ may be longer.
inline constexpr size_t kMaxBodyLines = 3;
std::vector<std::string> long_bodies(const std::map<std::string, std::string>& sources);

// Whether the top folder may have an entry with this name.
bool allowed_at_top(std::string_view name);

// --- Pages (*.md): link targets and named files exist, and decisions are numbered and listed
//
// Pure functions from the texts of all pages and the paths of all files to violations. Paths are
// relative to the root of the project. Each violation is a line of text that begins with the page's
// path.

struct Pages {
  std::map<std::string, std::string> texts;  // of the pages, by path
  std::set<std::string> files;               // pages and all other files
};

// The anchors of a page's headings, as GitHub makes them: "## The life of a request" becomes
// "the-life-of-a-request". The second anchor with the same text ends in "-1".
std::set<std::string> anchors_of(std::string_view page);

// Links within the project whose file or anchor does not exist. Code is ignored.
std::vector<std::string> broken_links(const Pages& pages);

// Files in backticks that do not exist: paths from the root ("gateway/pool/pool.cc", "deploy/run"),
// and names of sources ("fault.cc") in any folder. CHANGELOG.md is exempt, because it names former
// files.
std::vector<std::string> missing_files(const Pages& pages);

// Configuration keys in backticks (`limits.message`) that are not in docs/configuration.md.
// CHANGELOG.md is exempt.
std::vector<std::string> unknown_keys(const Pages& pages);

// Faults in docs/decisions. A page has no number, date or state, or its number differs from the
// file's name, or two pages have the same number. The table in docs/decisions/README.md lacks a
// page, or names it differently, or its rows are not in order. Numbers may have gaps, because an
// outdated decision is merged into its successor.
std::vector<std::string> decision_faults(const Pages& pages);

// --- Pages and definitions in sources: docs/limits.md has the value of each constant, and the
// classes in ARCHITECTURE.md and docs/glossary.md exist
//
// Pure functions from a page, and the texts of all sources by path, to violations: lines of text.

using Sources = std::map<std::string, std::string>;

// Constants that the page names as `kName`, `Class::kName` or `namespace::kName` with the value in
// front: "64 KiB (`StderrLog::kMaxLine`)". Each must be defined once, with that value. Sizes are in
// bytes, KiB or MiB, times in ms or s.
std::vector<std::string> limit_faults(std::string_view page, const Sources& sources);

// Types that the page names in backticks, as `Call` or `Chain::finish()`, but that no source
// declares.
std::vector<std::string> unknown_types(std::string_view page, const Sources& sources);

// lines_of(): the lines of a file without their line ends, as views into its text.
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
