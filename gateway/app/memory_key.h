// The key of what is remembered about a server: it identifies the program that the server's
// children run.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/config/config.h"
#include "gateway/pool/child_link.h"

namespace stdgate::app {

// Of the values of env and env_file, which may be secrets, while the key stands in a file: enough
// to see a change, too little to find out a value.
uint16_t digest_of_values(const config::BackendConfig& backend);

// Command, directory, user, names of the environment's variables, `values`, and size and time of
// the program and of each file that the command names, as a script is one. A package that a runner
// fetches is known by its name alone. Looks at the files.
std::string memory_key(const pool::LaunchSpec& launch, uint16_t values);

}  // namespace stdgate::app
