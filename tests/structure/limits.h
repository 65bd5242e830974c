// The rules of pages that name what the sources define: docs/limits.md gives each constant's value,
// and the classes that ARCHITECTURE.md and docs/glossary.md name exist.
//
// Pure functions from a page and the texts of all sources, by path, to what is wrong: lines of
// text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate {

using Sources = std::map<std::string, std::string>;

// Constants that the page names as `kName`, `Class::kName` or `namespace::kName` with the value in
// front: "64 KiB (`StderrLog::kMaxLine`)". Each is defined once, and has that value. Sizes are
// bytes, KiB or MiB, times are ms or s.
std::vector<std::string> limit_faults(std::string_view page, const Sources& sources);

// Types that the page names in backticks, as `Call` or `Chain::finish()`, and that no source
// declares.
std::vector<std::string> unknown_types(std::string_view page, const Sources& sources);

}  // namespace stdgate
