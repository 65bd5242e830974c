// The rules of the pages (*.md): what they link to and name exists, and decisions are numbered and
// listed.
//
// Pure functions from the texts of all pages and the paths of all files to what is wrong. Paths are
// relative to the root of the project. Each violation is one line of text that begins with the
// page's path.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate {

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

}  // namespace stdgate
