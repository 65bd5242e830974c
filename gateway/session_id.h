// Names for sessions that nobody can guess. Beside the composition root, which passes it in: the
// core takes no chance by itself.
#pragma once

#include <string>

namespace stdgate {

// 128 random bits of the kernel, as 32 hex digits.
std::string random_session_id();

}  // namespace stdgate
