// CostCase: input of a peer in its most expensive form, at any size.
//
// The cost may grow in proportion to the size, but not faster: cost_test.cc compares the
// instructions at four times the size with the instructions at the size. Each file has cases of one
// kind.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::test {

// The work that is counted. Runs once, and owns what it needs.
using Step = std::function<void()>;

struct CostCase {
  std::string name;  // "head/byte by byte"
  // In units of the case: bytes, members, messages. Large enough that quadratic cost would exceed
  // the fixed cost.
  size_t size = 0;
  std::function<Step(size_t size)> prepare;
};

std::vector<CostCase> text_costs();        // texts that are complete at once
std::vector<CostCase> head_costs();        // header fields
std::vector<CostCase> piece_costs();       // input in pieces that are joined
std::vector<CostCase> table_costs();       // lists and tables that grow with the input of a peer
std::vector<CostCase> connection_costs();  // whole connections
std::vector<CostCase> core_costs();        // the core with many sessions and calls

struct CostGroup {
  std::string_view name;
  std::vector<CostCase> (*cases)();
};
std::span<const CostGroup> cost_groups();

// Ends the program if a case does not do what it should, because its cost would mean nothing then.
inline void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "a cost case does something else: %s\n", what);
  std::abort();
}

// The texts `piece(0)` to `piece(count - 1)`, joined.
template <class Piece>
std::string repeated(size_t count, Piece&& piece) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += piece(i);
  return text;
}

// Makes the compiler assume that a step's result is used, so that the step is not removed.
template <class Value>
void keep(const Value& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace stdgate::test
