// Waiting in tests for a condition, with a deadline instead of a fixed delay.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

namespace stdgate::harness {

using Millis = std::chrono::milliseconds;

// Checks `condition` every few milliseconds until it holds. At the deadline the test fails with the
// text `what`, and the result is false.
bool eventually(std::string_view what, const std::function<bool()>& condition,
                Millis deadline = Millis(10'000));

// Whether `condition` holds within the deadline. Does not fail the test.
bool holds_within(Millis deadline, const std::function<bool()>& condition);

}  // namespace stdgate::harness
