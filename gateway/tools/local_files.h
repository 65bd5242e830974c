// Files of this machine, as tools look for them and write them. Errors are sentences.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace stdgate::tools {

// False too for a place that cannot be looked at.
bool file_exists(const std::string& file);

// The path of the running stdgate.
std::string own_program();

// Writes the whole content at once: who reads the file sees the former one or the new one. A link
// is followed; mode and, where that is allowed, owner stay. A new file may be read by its owner
// alone, as configurations may hold secrets.
tl::expected<void, std::string> replace_file(const std::string& file, const std::string& content);

// Makes the folder of a file with those above it, for this user alone.
tl::expected<void, std::string> make_private_folder_of(const std::string& file);

}  // namespace stdgate::tools
