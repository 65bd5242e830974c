// Bytes that nobody can guess. Passed in by the worker, as neither the core nor the sealing of
// texts generates randomness itself.
#pragma once

#include <cstdint>
#include <span>

namespace stdgate::app {

// From the kernel.
void fill_random(std::span<uint8_t> out);

}  // namespace stdgate::app
