// Whether what is written to a descriptor may have colours.
#pragma once

#include <map>
#include <string>

namespace stdgate::logs {

// It is a terminal that knows them (TERM), and NO_COLOR is not set, or empty (no-color.org).
bool takes_colour(int fd, const std::map<std::string, std::string>& environment);

}  // namespace stdgate::logs
