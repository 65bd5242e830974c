// Stages of memory and lag: where they begin and end, and what they refuse.
#include "gateway/policy/overload.h"

#include <gtest/gtest.h>

namespace stdgate {
namespace {

using policy::Overload;
using Memory = Overload::Memory;
using std::chrono::milliseconds;

constexpr Duration kMaxLag = milliseconds(100);

TEST(Overload, MemoryHasStagesThatDoNotFlap) {
  const struct {
    double part;
    Memory stage;
    bool is_new;
  } readings[] = {
      {0.5, Memory::free, false},   {0.849, Memory::free, false}, {0.85, Memory::tight, true},
      {0.84, Memory::tight, false}, {0.80, Memory::tight, false}, {0.79, Memory::free, true},
      {0.949, Memory::tight, true}, {0.95, Memory::full, true},   {0.94, Memory::full, false},
      {0.90, Memory::full, false},  {0.89, Memory::tight, true},  {1.5, Memory::full, true},
      {0.1, Memory::free, true},    {0.95, Memory::full, true},   {0.84, Memory::tight, true},
  };
  Overload overload(kMaxLag);
  for (const auto& reading : readings) {
    // The stage counts only if it lasts, although free memory is given back.
    for (unsigned i = 1; reading.part >= Overload::kFull && i < Overload::kFullReadings; ++i) {
      overload.note_memory(reading.part, 0);
      EXPECT_FALSE(overload.refuses_calls()) << i;
    }
    EXPECT_EQ(overload.note_memory(reading.part, 0), reading.is_new) << reading.part;
    EXPECT_EQ(overload.memory(), reading.stage) << reading.part;
    EXPECT_EQ(overload.pressure(), reading.part);
    EXPECT_EQ(overload.ends_connections(), reading.stage != Memory::free);
    EXPECT_EQ(overload.refuses_calls(), reading.stage == Memory::full);
    EXPECT_EQ(overload.refuses_sessions(), reading.stage == Memory::full);
  }
}

// Held memory makes the stage tight, but refuses nothing. Refusing is the task of accounts.
TEST(Overload, WhatIsHeldMakesMemoryTightOnly) {
  Overload overload(kMaxLag);
  EXPECT_FALSE(overload.note_memory(0.1, 0.849));
  EXPECT_TRUE(overload.note_memory(0.1, 0.85));
  EXPECT_EQ(overload.memory(), Memory::tight);
  for (unsigned i = 0; i < 2 * Overload::kFullReadings; ++i) {
    EXPECT_FALSE(overload.note_memory(0.1, 1.2));
  }
  EXPECT_FALSE(overload.refuses_calls());
  EXPECT_FALSE(overload.refuses_sessions());
  EXPECT_EQ(overload.pressure(), 0.1);
  EXPECT_TRUE(overload.note_memory(0.1, 0.79));
}

TEST(Overload, OneLateReadingIsNone) {
  Overload overload(kMaxLag);
  EXPECT_FALSE(overload.note_lag(milliseconds(101)));
  EXPECT_FALSE(overload.note_lag(milliseconds(1)));
  EXPECT_FALSE(overload.note_lag(milliseconds(101)));
  EXPECT_FALSE(overload.refuses_sessions());
  EXPECT_TRUE(overload.note_lag(milliseconds(101)));
  EXPECT_TRUE(overload.refuses_sessions());
  EXPECT_FALSE(overload.refuses_calls());
  EXPECT_FALSE(overload.ends_connections());
  EXPECT_FALSE(overload.note_lag(milliseconds(51)));  // above half of the limit
  EXPECT_TRUE(overload.refuses_sessions());
  EXPECT_TRUE(overload.note_lag(milliseconds(50)));
  EXPECT_FALSE(overload.refuses_sessions());
}

TEST(Overload, ALagAtTheLimitIsInTime) {
  Overload overload(kMaxLag);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(overload.note_lag(kMaxLag));
}

TEST(Overload, WithoutALimitNothingIsLate) {
  Overload overload(Duration::zero());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(overload.note_lag(std::chrono::hours(1)));
  EXPECT_FALSE(overload.refuses_sessions());
}

}  // namespace
}  // namespace stdgate
