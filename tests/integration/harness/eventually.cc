#include "tests/integration/harness/eventually.h"

#include <gtest/gtest.h>

#include <thread>

namespace stdgate::harness {

bool holds_within(Millis deadline, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(Millis(5));
  }
  return true;
}

bool eventually(std::string_view what, const std::function<bool()>& condition, Millis deadline) {
  const bool held = holds_within(deadline, condition);
  if (!held) {
    ADD_FAILURE() << "not within " << deadline.count() << " ms: " << what;
  }
  return held;
}

}  // namespace stdgate::harness
