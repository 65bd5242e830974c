// A configuration's files, read whole.
#pragma once

#include <cstddef>
#include <string>
#include <tl/expected.hpp>

namespace stdgate::config {

// The error says in words what is wrong with the file, its name included: absent, a directory, not
// readable, larger than `limit` bytes. A FileReader (config_parser.h).
tl::expected<std::string, std::string> read_text_file(const std::string& file, size_t limit);

// Whether its mode lets every user of this machine read it.
bool is_readable_by_all(const std::string& file);

}  // namespace stdgate::config
