// Waiting in tests: for a condition, with a deadline, and never for luck.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

namespace stdgate::harness {

using Millis = std::chrono::milliseconds;

// Asks `condition` every few milliseconds until it holds. At the deadline the test fails with what
// was waited for, and the answer is false.
bool eventually(std::string_view what, const std::function<bool()>& condition,
                Millis deadline = Millis(10'000));

// Whether `condition` holds within the deadline. Does not fail the test.
bool holds_within(Millis deadline, const std::function<bool()>& condition);

}  // namespace stdgate::harness
