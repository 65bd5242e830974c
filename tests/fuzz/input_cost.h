// What an input costs: CPU time of this thread, the least of several runs where the first one is
// suspicious, as the machine may be busy. The bounds are generous: they find what grows with its
// square, or what a few bytes can do to the loop, and not what has become a little slower.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>

namespace stdgate::test {

#if defined(NDEBUG) && !defined(STDGATE_SLOW_BUILD)
inline constexpr double kSlowBuild = 1;
#else
inline constexpr double kSlowBuild = 10;
#endif

// Of an input of so many bytes, in seconds.
inline double most_cost(size_t bytes) {
  constexpr double kAnyInput = 0.05;
  constexpr double kByte = 20e-6;
  return kSlowBuild * (kAnyInput + kByte * static_cast<double>(bytes));
}

inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Run>
double cost_of(Run&& run, int times) {
  double least = 1e9;
  for (int i = 0; i < times; ++i) {
    const double begin = cpu_seconds();
    run();
    least = std::min(least, cpu_seconds() - begin);
  }
  return least;
}

}  // namespace stdgate::test
