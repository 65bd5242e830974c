// Random: the core's source of randomness, which is passed in, so that a simulation can be
// repeated.
#pragma once

#include <random>

namespace stdgate {

using Random = std::mt19937_64;

}  // namespace stdgate
