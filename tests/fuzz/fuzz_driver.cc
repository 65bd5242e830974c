// Runs a fuzz target without libFuzzer: first every file of a corpus, then a bounded number of
// mutated and invented inputs, and some stretched inputs. The seed is printed.
//
//   fuzz_targets <target> <corpus folder> <number of inputs> <number of stretched inputs>
//
// The run fails if an input costs more than most_cost() of its size. It also fails if the cost
// grows by kMostGrowth when the input is stretched to four times its size. An input that takes
// longer than kPatience is stopped.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/random_seed.h"

// The build lists the targets: a line STDGATE_FUZZ_TARGET(name) for each.
#define STDGATE_FUZZ_TARGET(name)   \
  namespace stdgate::test::name {   \
  void run(std::string_view input); \
  }
#include "tests/fuzz/fuzz_targets.inc"
#undef STDGATE_FUZZ_TARGET

namespace {

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};
#define STDGATE_FUZZ_TARGET(name) Target{#name, stdgate::test::name::run},
constexpr Target kTargets[] = {
#include "tests/fuzz/fuzz_targets.inc"
};
#undef STDGATE_FUZZ_TARGET

using stdgate::test::cost_of;
using stdgate::test::require;

constexpr unsigned kPatience = 20;  // seconds
constexpr int kRetries = 5;
constexpr size_t kStretched = 16 << 10;
// Quadratic cost grows by 16, linear cost by 4.
constexpr double kMostGrowth = 10;
constexpr double kNoise = 0.002;  // in seconds; growth below it means nothing

std::vector<std::string> read_corpus(const char* folder) {
  std::vector<std::string> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

const Target* target = nullptr;
std::string_view under_test;  // shown by the alarm's handler

void on_alarm(int /*signal*/) { require(false, "it takes too long", under_test); }

// The cost of the input in seconds.
double run(const std::string& input, int times = 1) {
  under_test = input;
  alarm(kPatience);
  return cost_of([&input] { target->run(input); }, times);
}

void check(const std::string& input) {
  const double most = stdgate::test::most_cost(input.size());
  if (run(input) > most) require(run(input, kRetries) <= most, "it costs too much", input);
}

void check_growth(const stdgate::test::Stretch& stretch) {
  const std::string once = stretch.text(kStretched);
  const std::string four_times = stretch.text(4 * kStretched);
  const auto is_linear = [&](int times) {
    const double cost = run(four_times, times);
    return cost <= kNoise || cost <= kMostGrowth * run(once, times);
  };
  require(is_linear(1) || is_linear(kRetries), "its cost grows faster than its size", once);
  check(four_times);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s <target> <corpus folder> <inputs> <stretched inputs>\n",
                 argv[0]);
    return 2;
  }
  const std::string name = std::string(argv[1]) + "_fuzz";
  target = std::ranges::find(kTargets, name, &Target::name);
  if (target == std::end(kTargets)) {
    std::fprintf(stderr, "no target %s\n", argv[1]);
    return 2;
  }
  const std::vector<std::string> corpus = read_corpus(argv[2]);
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus in %s\n", argv[2]);
    return 2;
  }
  std::signal(SIGALRM, on_alarm);
  for (const std::string& input : corpus) check(input);
  stdgate::test::Mutator mutator(stdgate::test::random_seed());
  const auto next = [&] {
    const bool invented = mutator.below(8) == 0;
    return invented ? mutator.invent() : mutator.mutate(corpus[mutator.below(corpus.size())]);
  };
  for (long left = std::atol(argv[3]); left > 0; --left) check(next());
  for (long left = std::atol(argv[4]); left > 0; --left) {
    const std::string input = next();
    if (!input.empty()) check_growth(stdgate::test::Stretch(input, mutator));
  }
  return 0;
}
