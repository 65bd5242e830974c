// Shared by all fuzz targets: a check that shows the failed input, and bounds on the cost of an
// input.
//
// The target NAME is the function stdgate::test::NAME_fuzz::run(std::string_view input) in
// NAME_fuzz.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace stdgate::test {

inline void require(bool holds, const char* what, std::string_view input) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\ninput (%zu bytes): \"", what, input.size());
  for (const char c : input) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
      std::fputc(byte, stderr);
    } else {
      std::fprintf(stderr, "\\%03o", byte);
    }
  }
  std::fputs("\"\n", stderr);
  std::abort();
}

// --- The cost of an input: CPU time of this thread
//
// If the first run is suspicious, the cost is the least of several runs, because the machine may be
// busy. The bounds are generous. They find quadratic costs and short inputs that stop the loop, but
// not code that has become slightly slower.

#if defined(NDEBUG) && !defined(STDGATE_SLOW_BUILD)
inline constexpr double kSlowBuild = 1;
#else
inline constexpr double kSlowBuild = 10;
#endif

// The bound for an input of this many bytes, in seconds.
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
