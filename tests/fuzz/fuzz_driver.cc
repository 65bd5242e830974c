// Runs a fuzz target without libFuzzer: every file of a corpus, then a bounded number of mutated
// and invented inputs from a printed seed.
//
//   fuzz_<target> <corpus folder> <number of inputs>
//
// An input that takes longer than kPatience ends the run like one that breaks a promise.

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

namespace {

std::vector<std::string> read_corpus(const char* folder) {
  std::vector<std::string> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

constexpr unsigned kPatience = 20;  // seconds

std::string_view under_test;  // for the handler of the alarm

void on_alarm(int /*signal*/) { stdgate::test::require(false, "it takes too long", under_test); }

void run(const std::string& input) {
  under_test = input;
  alarm(kPatience);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s <corpus folder> <number of inputs>\n", argv[0]);
    return 2;
  }
  const std::vector<std::string> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus in %s\n", argv[1]);
    return 2;
  }
  std::signal(SIGALRM, on_alarm);
  for (const std::string& input : corpus) run(input);
  stdgate::test::Mutator mutator(stdgate::test::random_seed());
  for (long left = std::atol(argv[2]); left > 0; --left) {
    const bool invented = mutator.below(8) == 0;
    run(invented ? mutator.invent() : mutator.mutate(corpus[mutator.below(corpus.size())]));
  }
  return 0;
}
