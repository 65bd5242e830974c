// PeerVerdict: the era of shared children, as the children have shown it.
#include <gtest/gtest.h>

#include <optional>

#include "gateway/pool/handshake.h"

namespace stdgate {
namespace {

using config::Revision;
using pool::Greeting;
using pool::PeerVerdict;
using pool::StartFailure;

TEST(PeerVerdict, IsLearntFromWhatAChildHasShown) {
  PeerVerdict verdict(Revision::automatic, Greeting::probe);
  EXPECT_EQ(verdict.peer_kind(), std::nullopt);
  EXPECT_EQ(verdict.greeting(), Greeting::probe);
  EXPECT_TRUE(verdict.learn(PeerKind::stateful));
  EXPECT_FALSE(verdict.learn(PeerKind::stateful)) << "no news";
  EXPECT_EQ(verdict.greeting(), Greeting::handshake);
  EXPECT_TRUE(verdict.learn(PeerKind::stateless));
  EXPECT_EQ(verdict.greeting(), Greeting::discovery);
}

TEST(PeerVerdict, ThatIsConfiguredIsNotLearnt) {
  for (const auto& [revision, peer_kind] : {std::pair{Revision::legacy, PeerKind::stateful},
                                            std::pair{Revision::modern, PeerKind::stateless}}) {
    PeerVerdict verdict(revision, Greeting::probe);
    EXPECT_FALSE(verdict.learn(PeerKind::stateless));
    EXPECT_FALSE(verdict.learn(PeerKind::stateful));
    EXPECT_FALSE(verdict.excuses(verdict.greeting(), StartFailure::refused));
    verdict.doubt();
    EXPECT_EQ(verdict.peer_kind(), peer_kind);
  }
}

// Another program may have replaced a legacy server, so the next child is asked for its era.
TEST(PeerVerdict, ThatIsLegacyCanBeDoubted) {
  for (const Greeting first : {Greeting::probe, Greeting::handshake}) {
    PeerVerdict verdict(Revision::automatic, first);
    verdict.learn(PeerKind::stateful);
    verdict.doubt();
    EXPECT_EQ(verdict.peer_kind(), std::nullopt);
    EXPECT_EQ(verdict.greeting(), first);
    EXPECT_TRUE(verdict.learn(PeerKind::stateless));
  }
}

// If a session's own child turns out not to be legacy, that agrees with a modern server.
TEST(PeerVerdict, ThatIsModernIsNotDoubted) {
  PeerVerdict verdict(Revision::automatic, Greeting::probe);
  verdict.learn(PeerKind::stateless);
  verdict.doubt();
  EXPECT_EQ(verdict.peer_kind(), PeerKind::stateless);
}

TEST(PeerVerdict, AChildThatCannotBearToBeAskedIsALegacyOne) {
  PeerVerdict verdict(Revision::automatic, Greeting::probe);
  EXPECT_TRUE(verdict.excuses(Greeting::probe, StartFailure::while_asked));
  EXPECT_EQ(verdict.peer_kind(), PeerKind::stateful);
}

// The server was replaced, so the next child is asked for its era, and the failure does not count.
// This excuse is valid once.
TEST(PeerVerdict, AChildThatContradictsItIsExcused) {
  for (const auto& [peer_kind, greeting] : {std::pair{PeerKind::stateless, Greeting::discovery},
                                            std::pair{PeerKind::stateful, Greeting::handshake}}) {
    PeerVerdict verdict(Revision::automatic, Greeting::probe);
    verdict.learn(peer_kind);
    EXPECT_FALSE(verdict.excuses(greeting, StartFailure::other)) << "that shows nothing";
    EXPECT_EQ(verdict.peer_kind(), peer_kind);
    EXPECT_TRUE(verdict.excuses(greeting, StartFailure::refused));
    EXPECT_EQ(verdict.peer_kind(), std::nullopt);
    EXPECT_EQ(verdict.greeting(), Greeting::probe);
    EXPECT_FALSE(verdict.excuses(Greeting::discovery, StartFailure::refused));
  }
}

TEST(PeerVerdict, AnUntriedOneThatRefusesIsAModernOne) {
  PeerVerdict verdict(Revision::automatic, Greeting::handshake);
  EXPECT_TRUE(verdict.excuses(Greeting::handshake, StartFailure::refused));
  EXPECT_EQ(verdict.peer_kind(), PeerKind::stateless);
  EXPECT_FALSE(verdict.excuses(Greeting::discovery, StartFailure::refused)) << "neither";
  EXPECT_EQ(verdict.peer_kind(), std::nullopt);
}

}  // namespace
}  // namespace stdgate
