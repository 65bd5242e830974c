// Common parts of the tests of a backend: the bench, the texts of messages, and helpers for
// expectations. Such tests live in this namespace.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/backend_bench.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

// Sessions get children of their own; `warm` children are kept ready for sessions to come.
inline backend::BackendOptions lease_options(uint32_t max, uint32_t warm = 0) {
  backend::BackendOptions options = session_options(max);
  options.config.pool.warm = warm;
  return options;
}

// Answers all requests at the child, and the requests that arrive because of these answers.
inline void answer_all(FakeChild& child) {
  for (auto ids = child.take_ids(); !ids.empty(); ids = child.take_ids()) {
    for (const std::string& id : ids) child.answer(id);
  }
}

}  // namespace stdgate::test
