// The key of what is remembered about a server: it identifies the program that the server's
// children run.
#pragma once

#include <string>

#include "gateway/pool/child_link.h"

namespace stdgate::app {

// Made of the command, the directory, the names of the environment's variables, and the size and
// time of the program and of each file that the command names, because a file may be a script. A
// package that a runner fetches counts by its name only. Reads facts about the files; no value of
// the environment is part of the key.
std::string memory_key(const pool::LaunchSpec& launch);

}  // namespace stdgate::app
