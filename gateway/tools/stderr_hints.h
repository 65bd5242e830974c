// What the last words of a server on stderr say about why it does not work. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::tools {

// Names of environment variables that lines like these miss: `KeyError: 'API_KEY'`,
// `API_KEY is required`, `Missing environment variable API_KEY`. In their order, each once.
std::vector<std::string> missing_variables(const std::vector<std::string>& lines);

// What a line says to do, for people; empty: nothing is known about such a line. A missing module,
// a version of Node.js that is too old, no permission, an address in use, a program that a script
// did not find.
std::string advice_for(std::string_view line);

// npx asks whether it may install a package.
bool asks_to_install(std::string_view text);

}  // namespace stdgate::tools
