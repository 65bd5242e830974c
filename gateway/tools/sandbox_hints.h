// What a sandbox has to do with a server that does not work. Pure.
#pragma once

#include <string>
#include <string_view>

#include "gateway/config/config.h"

namespace stdgate::tools {

// What the sandbox lets a backend reach, for people: "reads the system's files, cwd; writes
// nothing; no network". Empty: it has none.
std::string sandbox_text(const config::BackendConfig& backend);

// What to do about a line of stderr, or a reason why there was no start, whose likely cause is that
// the sandbox withholds a file or the network; empty: the line tells of nothing such, or the
// sandbox withholds nothing such.
std::string sandbox_advice(const config::BackendConfig& backend, std::string_view line);

}  // namespace stdgate::tools
