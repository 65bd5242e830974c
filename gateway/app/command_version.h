// What `stdgate --version` prints.
#pragma once

#include <string>

namespace stdgate::app {

// "stdgate 0.2.0 (commit 1a2b3c4d5e6f, linux-amd64)", with the end of the line. Without the commit
// where the sources were built outside of a repository.
std::string version_text();

}  // namespace stdgate::app
