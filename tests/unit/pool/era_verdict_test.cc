// What is known of the era of shared children, by what children have shown.
#include "gateway/pool/era_verdict.h"

#include <gtest/gtest.h>

#include <optional>

namespace stdgate {
namespace {

using config::Revision;
using pool::EraVerdict;
using pool::Greeting;
using pool::StartFailure;

TEST(EraVerdict, IsLearntFromWhatAChildHasShown) {
  EraVerdict verdict(Revision::automatic, Greeting::probe);
  EXPECT_EQ(verdict.era(), std::nullopt);
  EXPECT_EQ(verdict.greeting(), Greeting::probe);
  EXPECT_TRUE(verdict.learn(Era::legacy));
  EXPECT_FALSE(verdict.learn(Era::legacy)) << "no news";
  EXPECT_EQ(verdict.greeting(), Greeting::legacy);
  EXPECT_TRUE(verdict.learn(Era::modern));
  EXPECT_EQ(verdict.greeting(), Greeting::modern);
}

TEST(EraVerdict, ThatIsConfiguredIsNotLearnt) {
  for (const auto& [revision, era] :
       {std::pair{Revision::legacy, Era::legacy}, std::pair{Revision::modern, Era::modern}}) {
    EraVerdict verdict(revision, Greeting::probe);
    EXPECT_FALSE(verdict.learn(Era::modern));
    EXPECT_FALSE(verdict.learn(Era::legacy));
    EXPECT_FALSE(verdict.excuses(verdict.greeting(), StartFailure::refused));
    verdict.doubt();
    EXPECT_EQ(verdict.era(), era);
  }
}

// Another program may have taken the place of a legacy server: the next child is asked.
TEST(EraVerdict, ThatIsLegacyCanBeDoubted) {
  for (const Greeting first : {Greeting::probe, Greeting::legacy}) {
    EraVerdict verdict(Revision::automatic, first);
    verdict.learn(Era::legacy);
    verdict.doubt();
    EXPECT_EQ(verdict.era(), std::nullopt);
    EXPECT_EQ(verdict.greeting(), first);
    EXPECT_TRUE(verdict.learn(Era::modern));
  }
}

// A session's own child that is no legacy one says nothing against that.
TEST(EraVerdict, ThatIsModernIsNotDoubted) {
  EraVerdict verdict(Revision::automatic, Greeting::probe);
  verdict.learn(Era::modern);
  verdict.doubt();
  EXPECT_EQ(verdict.era(), Era::modern);
}

TEST(EraVerdict, AChildThatCannotBearToBeAskedIsALegacyOne) {
  EraVerdict verdict(Revision::automatic, Greeting::probe);
  EXPECT_TRUE(verdict.excuses(Greeting::probe, StartFailure::while_asked));
  EXPECT_EQ(verdict.era(), Era::legacy);
}

// The server was replaced: the next child is asked, and nothing has failed. Once.
TEST(EraVerdict, AChildThatContradictsItIsExcused) {
  for (const auto& [era, greeting] :
       {std::pair{Era::modern, Greeting::modern}, std::pair{Era::legacy, Greeting::legacy}}) {
    EraVerdict verdict(Revision::automatic, Greeting::probe);
    verdict.learn(era);
    EXPECT_FALSE(verdict.excuses(greeting, StartFailure::other)) << "that shows nothing";
    EXPECT_EQ(verdict.era(), era);
    EXPECT_TRUE(verdict.excuses(greeting, StartFailure::refused));
    EXPECT_EQ(verdict.era(), std::nullopt);
    EXPECT_EQ(verdict.greeting(), Greeting::probe);
    EXPECT_FALSE(verdict.excuses(Greeting::modern, StartFailure::refused));
  }
}

TEST(EraVerdict, AnUntriedOneThatRefusesIsAModernOne) {
  EraVerdict verdict(Revision::automatic, Greeting::legacy);
  EXPECT_TRUE(verdict.excuses(Greeting::legacy, StartFailure::refused));
  EXPECT_EQ(verdict.era(), Era::modern);
  EXPECT_FALSE(verdict.excuses(Greeting::modern, StartFailure::refused)) << "neither";
  EXPECT_EQ(verdict.era(), std::nullopt);
}

}  // namespace
}  // namespace stdgate
