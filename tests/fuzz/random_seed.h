// The seed of a randomised test: fresh in each run, and printed. STDGATE_TEST_SEED sets the seed,
// to repeat a failed run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace stdgate::test {

inline uint64_t random_seed() {
  const char* given = std::getenv("STDGATE_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("STDGATE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace stdgate::test
