// The key under which it is remembered what a server offers: what decides which program its
// children run.
#pragma once

#include <string>

#include "gateway/pool/child_link.h"

namespace stdgate::app {

// Command, directory, names of the environment's variables, and size and time of the program and of
// each file that the command names, as a script is one. A package that a runner fetches is known by
// its name alone. Looks at the files; no value of the environment is in it.
std::string memory_key(const pool::LaunchSpec& launch);

}  // namespace stdgate::app
