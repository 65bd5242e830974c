// Case: an operation whose cost is measured, in time (micro.cc) and in instructions (counted.cc). A
// file of cases covers folders of the source tree.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace stdgate::bench {

// Does the operation once. Owns what it needs.
using Step = std::function<void()>;

struct Case {
  std::string name;  // "envelope/100B"
  size_t bytes = 0;  // that a step processes; 0: does not matter
  std::function<Step()> prepare;
};

std::vector<Case> rpc_cases();
std::vector<Case> core_cases();
std::vector<Case> metrics_cases();
std::vector<Case> websocket_cases();
std::vector<Case> schema_cases();

std::vector<Case> all_cases();

// Makes the compiler assume that a step's result is used, so that the step is not removed.
template <class Value>
void keep(const Value& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace stdgate::bench
