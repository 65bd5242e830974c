// stdgate_micro: measures the time of each case with Google Benchmark. See --help.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "tests/bench/micro/case.h"

int main(int argc, char** argv) {
  for (const stdgate::bench::Case& each : stdgate::bench::all_cases()) {
    benchmark::RegisterBenchmark(each.name.c_str(), [each](benchmark::State& state) {
      const stdgate::bench::Step step = each.prepare();
      for (auto _ : state) step();
      if (each.bytes > 0) state.SetBytesProcessed(state.iterations() * int64_t(each.bytes));
    });
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
