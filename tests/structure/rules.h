// The rules of the source tree: who may include whom, and what no file may hold.
//
// Pure functions from a file's path and text to what is wrong with it. The tables are in rules.cc;
// a new folder or library needs a line there.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate {

// `path` is relative to the root of the project ("gateway/rpc/envelope.cc"). Each violation is one
// line of text that begins with the path.
std::vector<std::string> violations_of_file(std::string_view path, std::string_view text);

// The same for what belongs to one machine: `checkout`, where the project lies there (absolute); a
// folder at the top of its file system that other systems do not have; and the host of a package
// registry or mirror. For files of any kind.
std::vector<std::string> machine_names_in_file(std::string_view path, std::string_view text,
                                               std::string_view checkout);

// What compiles by luck: files that use integers of fixed width (uint8_t) and include <cstdint>
// neither themselves nor by what they include of the project. Headers of the standard library
// include it in some releases of a compiler. `sources`: all texts by their paths.
std::vector<std::string> integers_by_luck(const std::map<std::string, std::string>& sources);

// Headers that have more than kMaxClassLines with their sources: a class of that size wants to be
// two. `sources`: all texts by their paths; what lies in tests/ may be longer.
inline constexpr size_t kMaxClassLines = 700;
std::vector<std::string> long_classes(const std::map<std::string, std::string>& sources);

// Whether the top folder may hold an entry of this name.
bool allowed_at_top(std::string_view name);

}  // namespace stdgate
