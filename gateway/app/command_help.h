// What `--help` says behind the words of the command line that are no tools.
#pragma once

#include <string_view>

namespace stdgate::app {

// At most 80 columns wide; empty: the word is a tool, or unknown.
std::string_view word_help(std::string_view word);

}  // namespace stdgate::app
