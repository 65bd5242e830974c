// stdgate_costs: the program that cost_test.cc runs under callgrind.
//
//   GROUP [PART]  runs each case of the group, or the cases with PART in their names, at its size
//                 and then at four times the size
//   (none)        lists the groups and their cases
#include <cstdio>

#include "tests/cost/cost_case.h"

// Callgrind counts in this function, and writes a file whenever the function returns. So it is
// called once per count. It is extern "C", because callgrind needs exactly this name.
extern "C" [[gnu::noinline]] void stdgate_counted_step(const stdgate::test::Step* step) {
  (*step)();
  asm volatile("");
}

namespace stdgate::test {

namespace {

int list() {
  for (const CostGroup& group : cost_groups()) {
    for (const CostCase& one : group.cases()) {
      std::printf("%s: %s, %zu\n", std::string(group.name).c_str(), one.name.c_str(), one.size);
    }
  }
  return 0;
}

int run(std::string_view name, std::string_view part) {
  for (const CostGroup& group : cost_groups()) {
    if (group.name != name) continue;
    for (const CostCase& one : group.cases()) {
      if (one.name.find(part) == std::string::npos) continue;
      for (const size_t size : {one.size, 4 * one.size}) {
        const Step step = one.prepare(size);
        stdgate_counted_step(&step);
      }
    }
    return 0;
  }
  std::fprintf(stderr, "no such group\n");
  return 64;
}

}  // namespace
}  // namespace stdgate::test

int main(int argc, char** argv) {
  return argc > 1 ? stdgate::test::run(argv[1], argc > 2 ? argv[2] : "") : stdgate::test::list();
}
