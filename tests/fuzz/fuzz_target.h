// What every fuzz target has: libFuzzer's entry point, a check that shows which input broke it, and
// bounds on what an input may cost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

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

// --- What an input costs: CPU time of this thread
//
// It is the least of several runs where the first run is suspicious, as the machine may be busy.
// The bounds are generous: they find costs that grow with the square of the input, or a few bytes
// that stop the loop, and not code that has become a little slower.

#if defined(NDEBUG) && !defined(STDGATE_SLOW_BUILD)
inline constexpr double kSlowBuild = 1;
#else
inline constexpr double kSlowBuild = 10;
#endif

// The bound for an input of so many bytes, in seconds.
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
