// Session ids that cannot be guessed. Passed in by the worker, as the core generates no randomness
// itself.
#pragma once

#include <string>

namespace stdgate::app {

// Two hex digits of the worker's number (below 256), then 128 random bits of the kernel as 32.
std::string random_session_id(unsigned worker);

}  // namespace stdgate::app
