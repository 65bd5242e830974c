// Case: one thing whose cost is measured, by its time (micro.cc) and by its instructions
// (counted.cc). Each file of cases makes those of a folder of the sources.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace stdgate::bench {

// Does it once. Owns what it needs.
using Step = std::function<void()>;

struct Case {
  std::string name;  // "envelope/100B"
  size_t bytes = 0;  // that a step goes through; 0: they do not matter
  std::function<Step()> prepare;
};

std::vector<Case> rpc_cases();
std::vector<Case> core_cases();
std::vector<Case> metrics_cases();
std::vector<Case> websocket_cases();
std::vector<Case> schema_cases();

std::vector<Case> all_cases();

// A step must have an effect that the compiler cannot see through.
template <class Value>
void keep(const Value& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace stdgate::bench
