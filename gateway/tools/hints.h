// Finds out by a server's last words on stderr why it does not work. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::tools {

// Names of environment variables that lines like these miss: `KeyError: 'API_KEY'`,
// `API_KEY is required`, `Missing environment variable API_KEY`. In their order, each once.
std::vector<std::string> missing_variables(const std::vector<std::string>& lines);

// Advice on a line, for people; empty: nothing is known about such a line. A missing module, a
// version of Node.js that is too old, no permission, an address in use, a program that a script did
// not find.
std::string advice_for(std::string_view line);

// npx asks whether it may install a package.
bool asks_to_install(std::string_view text);

// The reach of a backend within its sandbox, for people: "reads the system's files, cwd; writes
// nothing; no network". Empty: it has no sandbox.
std::string sandbox_text(const config::BackendConfig& backend);

// Advice on a line of stderr, or on the reason of a failed start, if its likely cause is the
// sandbox: a file or the network is out of reach. Empty: there is no sign of that.
std::string sandbox_advice(const config::BackendConfig& backend, std::string_view line);

}  // namespace stdgate::tools
