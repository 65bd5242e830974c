// The rules of the source tree: who may include whom, and what no file may hold.
//
// Pure functions from a file's path and text to what is wrong with it. The tables are in rules.cc;
// a new folder or library needs a line there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stdgate {

// `path` is relative to the root of the project ("gateway/rpc/envelope.cc"). Each violation is one
// line of text that begins with the path.
std::vector<std::string> violations_of_file(std::string_view path, std::string_view text);

// Whether the top folder may hold an entry of this name.
bool allowed_at_top(std::string_view name);

}  // namespace stdgate
