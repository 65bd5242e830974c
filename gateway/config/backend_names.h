// The names of backends in a file that may have mistakes: for shells that complete them.
#pragma once

#include <string>
#include <vector>

namespace stdgate::config {

// In their order; none if the text is no YAML.
std::vector<std::string> backend_names(const std::string& yaml);

}  // namespace stdgate::config
