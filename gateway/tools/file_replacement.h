// A file with another content, all at once: who reads it sees the former one or the new one.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace stdgate::tools {

// A link is followed; mode and, where that is allowed, owner stay. A new file may be read by its
// owner alone, as configurations may hold secrets. The error is a sentence.
tl::expected<void, std::string> replace_file(const std::string& file, const std::string& content);

}  // namespace stdgate::tools
