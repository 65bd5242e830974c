// CostCase: something that a peer feeds, in the shape that costs most, at any size.
//
// What it costs may grow with the size and no faster: cost_test.cc holds the instructions at four
// times the size against those at the size. Each file of cases makes those of one kind.
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

// What is counted. Run once; owns what it needs.
using Step = std::function<void()>;

struct CostCase {
  std::string name;  // "head/byte by byte"
  // In units of the case: bytes, members, messages. Large enough for what grows with its square to
  // outweigh what it costs to begin.
  size_t size = 0;
  std::function<Step(size_t size)> prepare;
};

std::vector<CostCase> text_costs();        // texts that are there as a whole
std::vector<CostCase> head_costs();        // header fields
std::vector<CostCase> piece_costs();       // what comes in pieces and is put together
std::vector<CostCase> table_costs();       // lists and tables that grow with what a peer sends
std::vector<CostCase> connection_costs();  // whole connections
std::vector<CostCase> core_costs();        // the core, with many sessions and calls

struct CostGroup {
  std::string_view name;
  std::vector<CostCase> (*cases)();
};
std::span<const CostGroup> cost_groups();

// A case that does not do what it says would cost little.
inline void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "a cost case does something else: %s\n", what);
  std::abort();
}

// `count` times what `piece(i)` gives.
template <class Piece>
std::string repeated(size_t count, Piece&& piece) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += piece(i);
  return text;
}

// A step must have an effect that the compiler cannot see through.
template <class Value>
void keep(const Value& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace stdgate::test
