// Streams of MCP sessions that break off and continue: detach, GET, Last-Event-ID.

#include <deque>

#include "tests/unit/mcp/mcp_world.h"

namespace stdgate::test {
namespace {

using Resumed = mcp::McpSession::Resumed;

class McpResume : public testing::Test {
 protected:
  explicit McpResume(const config::LimitsConfig& limits = {}) : world_(mcp_options(), limits) {
    world_.greet();
  }
  void say(const std::string& name) { world_.child().say(note_text(name)); }
  Resumed resume(FakeEventSink& sink, const std::string& id) {
    return world_.session->resume(sink, id);
  }
  // The id of the event with this text.
  static std::string id_of(const FakeEventSink& sink, const std::string& text) {
    for (const auto& event : sink.events) {
      if (event.data == text) return event.id;
    }
    ADD_FAILURE() << "no such event: " << text;
    return {};
  }
  // The number in the id of an event.
  static uint64_t number_in(const std::string& id) {
    return std::stoull(id.substr(id.rfind('-') + 1));
  }
  static void expect_ascending(const FakeEventSink& sink, uint64_t above = 0) {
    for (const auto& event : sink.events) {
      EXPECT_GT(number_in(event.id), above) << event.id;
      above = number_in(event.id);
    }
  }

  FakeEventSink first_;
  FakeEventSink second_;
  FakeEventSink third_;
  McpWorld world_;  // ends the responses that are open
};

TEST_F(McpResume, AGetStreamGoesOn) {
  world_.listen(first_);
  say("a");
  say("b");
  const std::string last = id_of(first_, note_text("a"));
  world_.leave(first_);
  say("c");
  EXPECT_EQ(resume(second_, last), Resumed::yes);
  say("d");
  expect_ascending(second_, number_in(last));
  EXPECT_THAT(second_.take(), ElementsAre(note_text("b"), note_text("c"), note_text("d")));
  world_.leave(second_);
  world_.listen(third_);
  EXPECT_THAT(third_.take(), IsEmpty()) << "all of it has been had";
}

TEST_F(McpResume, AGetStreamGoesOnFromItsPrimingEvent) {
  world_.listen(first_);
  const std::string priming = first_.events.at(0).id;
  world_.leave(first_);
  say("a");
  EXPECT_EQ(resume(second_, priming), Resumed::yes);
  EXPECT_THAT(second_.take(), ElementsAre(note_text("a")));
}

TEST_F(McpResume, AResumedStreamThatHasNothingYetHasBegun) {
  world_.listen(first_);
  const std::string priming = first_.events.at(0).id;
  world_.leave(first_);
  EXPECT_EQ(resume(second_, priming), Resumed::yes);
  EXPECT_TRUE(second_.streaming);
  say("a");
  EXPECT_THAT(second_.take(), ElementsAre(note_text("a")));
}

TEST_F(McpResume, ACallUnderWayGoesOn) {
  world_.post(first_, tool_call("1", "1"));
  world_.child().say(progress("1", 1));
  const std::string last = id_of(first_, progress("1", 1));
  world_.leave(first_);
  world_.child().say(progress("1", 2));
  EXPECT_EQ(resume(second_, last), Resumed::yes);
  world_.child().say(progress("1", 3));
  world_.answer_next();
  expect_ascending(second_, number_in(last));
  EXPECT_THAT(second_.take(), ElementsAre(progress("1", 2), progress("1", 3), result_text("1")));
  EXPECT_TRUE(second_.ended);
}

TEST_F(McpResume, ACallUnderWayGoesOnFromItsPrimingEvent) {
  world_.post(first_, request_text("1"));
  world_.bench.advance(McpWorld::kPatience);
  ASSERT_EQ(first_.events.size(), 1U);
  const std::string priming = first_.events[0].id;
  world_.leave(first_);
  world_.answer_next();
  EXPECT_EQ(resume(second_, priming), Resumed::yes);
  EXPECT_THAT(second_.take(), ElementsAre(result_text("1")));
  EXPECT_TRUE(second_.ended);
}

TEST_F(McpResume, AFinishedStreamCanBeReadAgainAsOftenAsWanted) {
  world_.post(first_, tool_call("1", "1"));
  world_.child().say(progress("1", 1));
  world_.answer_next();
  const std::string begin = first_.events.at(0).id;
  const std::string end = id_of(first_, result_text("1"));
  EXPECT_EQ(resume(second_, begin), Resumed::yes);
  EXPECT_THAT(second_.take(), ElementsAre(progress("1", 1), result_text("1")));
  EXPECT_TRUE(second_.ended);
  EXPECT_EQ(resume(third_, end), Resumed::over);
  EXPECT_THAT(third_.take(), IsEmpty());
  EXPECT_FALSE(third_.ended) << "not used";
}

TEST_F(McpResume, StreamsAreNotMixed) {
  world_.listen(first_);
  world_.post(second_, tool_call("1", "1"));
  world_.post(third_, tool_call("2", "2"));
  world_.child().say(progress("1", 1));
  world_.child().say(progress("2", 1));
  say("a");
  const std::string last = id_of(second_, progress("1", 1));
  world_.leave(second_);
  world_.child().say(progress("2", 2));
  say("b");
  world_.child().say(progress("1", 2));
  FakeEventSink again;
  EXPECT_EQ(resume(again, last), Resumed::yes);
  EXPECT_THAT(again.take(), ElementsAre(progress("1", 2)));
  EXPECT_THAT(first_.take(), ElementsAre(note_text("a")));
  EXPECT_THAT(third_.take(), ElementsAre(progress("2", 1), progress("2", 2), note_text("b")))
      << "the only POST that was heard";
  world_.leave(again);
}

TEST_F(McpResume, AnswersOfAClientThatIsNotThereAreNotGivenToOthers) {
  world_.post(first_, request_text("1"));
  world_.leave(first_);
  world_.listen(second_);
  world_.answer_next();
  EXPECT_THAT(second_.take(), IsEmpty());
}

TEST_F(McpResume, RefusesIdsThatNameNoEvent) {
  world_.listen(first_);
  say("a");
  const std::string good = id_of(first_, note_text("a"));
  const std::string prefix = good.substr(0, good.find('-'));
  const std::vector<std::string> ids = {
      "",
      "x",
      prefix,
      prefix + "-",
      prefix + "-0",
      prefix + "-0-",
      prefix + "-0-x",
      prefix + "-0-" + std::to_string(number_in(good) + 1),
      prefix + "-0-99999999999999999999999",
      prefix + "-99999999999-1",
      prefix + "--1",
      prefix + "--0-1",
      prefix + "-0--1",
      prefix + "-0-1-",
      prefix + "-0-1x",
      prefix + "-0-1 ",
      prefix + "-77-1",  // no POST has this number
      " " + good,
      "x" + good,
      "12345678-0-1",
      std::to_string(number_in(good)),
  };
  for (const std::string& id : ids) EXPECT_EQ(resume(second_, id), Resumed::unknown_event) << id;
  EXPECT_FALSE(second_.streaming || second_.over) << "the response is the caller's";
  EXPECT_FALSE(first_.over) << "nobody is put in its place";
  EXPECT_EQ(resume(second_, good), Resumed::yes);
}

TEST_F(McpResume, RefusesEventsOfAnotherSession) {
  world_.listen(first_);
  say("a");
  const std::string id = id_of(first_, note_text("a"));
  world_.leave(first_);
  world_.greet();
  world_.listen(second_);
  say("b");
  EXPECT_EQ(resume(third_, id), Resumed::unknown_event);
}

TEST_F(McpResume, ASecondGetEndsTheFirst) {
  world_.listen(first_);
  world_.listen(second_);
  EXPECT_TRUE(first_.ended);
  EXPECT_FALSE(second_.over);
  EXPECT_EQ(resume(third_, second_.events.at(0).id), Resumed::yes);
  EXPECT_TRUE(second_.ended);
  say("a");
  EXPECT_THAT(third_.take(), ElementsAre(note_text("a")));
}

TEST_F(McpResume, ASecondReaderOfAPostEndsTheFirst) {
  world_.post(first_, tool_call("1", "1"));
  world_.child().say(progress("1", 1));
  EXPECT_EQ(resume(second_, first_.events.at(0).id), Resumed::yes);
  EXPECT_TRUE(first_.ended);
  world_.answer_next();
  EXPECT_THAT(second_.take(), ElementsAre(progress("1", 1), result_text("1")));
}

TEST_F(McpResume, AStaleResponseIsNobodys) {
  world_.listen(first_);
  world_.listen(second_);
  world_.sessions.detach(world_.id, first_);
  say("a");
  EXPECT_THAT(second_.take(), ElementsAre(note_text("a")));
}

TEST_F(McpResume, WhatWaitsForAGetComesUnderAscendingIds) {
  say("a");
  say("b");
  world_.listen(first_);
  say("c");
  ASSERT_EQ(first_.events.size(), 4U);
  EXPECT_EQ(first_.events[0].data, "") << "the priming event comes first";
  expect_ascending(first_);
  const std::string last = id_of(first_, note_text("a"));
  world_.leave(first_);
  EXPECT_EQ(resume(second_, last), Resumed::yes);
  EXPECT_THAT(second_.take(), ElementsAre(note_text("b"), note_text("c")));
}

TEST_F(McpResume, AClientThatComesBackWithAnIdGetsWhatWaited) {
  world_.listen(first_);
  say("a");
  const std::string last = id_of(first_, note_text("a"));
  world_.leave(first_);
  say("b");
  world_.listen(second_);
  EXPECT_THAT(second_.take(), ElementsAre(note_text("b")));
  world_.leave(second_);
  EXPECT_EQ(resume(third_, last), Resumed::yes);
  EXPECT_THAT(third_.take(), ElementsAre(note_text("b"))) << "the other may not have come through";
}

TEST_F(McpResume, TheClientMayLeaveInsideOfTheResumption) {
  world_.post(first_, tool_call("1", "1"));
  world_.child().say(progress("1", 1));
  world_.child().say(progress("1", 2));
  const std::string begin = first_.events.at(0).id;
  world_.leave(first_);
  second_.during = [this] {
    if (!second_.events.empty() && !second_.over) world_.leave(second_);
  };
  EXPECT_EQ(resume(second_, begin), Resumed::yes);
  EXPECT_THAT(second_.take(), ElementsAre(progress("1", 1)));
  world_.answer_next();
  third_.during = [this] {
    if (!third_.events.empty() && !third_.over) world_.leave(third_);
  };
  EXPECT_EQ(resume(third_, begin), Resumed::yes);
  EXPECT_THAT(third_.take(), ElementsAre(progress("1", 1)));
}

// --- Events that are no longer kept ---------------------------------------------------------

config::LimitsConfig small_log() {
  config::LimitsConfig limits;
  limits.replay_events = 3;
  limits.replay = 1000;
  return limits;
}

class McpSmallLog : public McpResume {
 protected:
  McpSmallLog() : McpResume(small_log()) {}
};

TEST_F(McpSmallLog, LostEventsAreTold) {
  world_.listen(first_);
  for (const char* name : {"a", "b", "c", "d"}) say(name);
  const std::string priming = first_.events.at(0).id;
  const std::string first = id_of(first_, note_text("a"));
  world_.leave(first_);
  EXPECT_EQ(resume(second_, priming), Resumed::event_lost);
  EXPECT_FALSE(second_.streaming || second_.over) << "the response is the caller's";
  EXPECT_EQ(resume(second_, first), Resumed::yes);
  EXPECT_THAT(second_.take(), ElementsAre(note_text("b"), note_text("c"), note_text("d")));
}

TEST_F(McpSmallLog, AFinishedStreamOfWhichNothingIsLeftIsLost) {
  world_.post(first_, tool_call("1", "1"));
  world_.child().say(progress("1", 1));
  world_.answer_next();
  const std::string begin = first_.events.at(0).id;
  for (const char* name : {"a", "b", "c"}) say(name);
  EXPECT_EQ(resume(second_, begin), Resumed::event_lost);
}

TEST_F(McpSmallLog, AStreamThatIsHeardLosesNothing) {
  world_.listen(first_);
  std::vector<std::string> said;
  for (int i = 0; i < 50; ++i) {
    said.push_back(note_text("n", "[" + std::to_string(i) + "]"));
    world_.child().say(said.back());
  }
  expect_ascending(first_);
  EXPECT_THAT(first_.take(), testing::ElementsAreArray(said));
}

TEST_F(McpSmallLog, OfWhatWaitsForAGetTheYoungestAreKept) {
  for (const char* name : {"a", "b", "c", "d", "e"}) say(name);
  world_.listen(first_);
  EXPECT_THAT(first_.take(), ElementsAre(note_text("c"), note_text("d"), note_text("e")));
}

TEST_F(McpSmallLog, AMessageLargerThanTheLogReachesWhoListens) {
  world_.listen(first_);
  const std::string large = note_text("n", "[\"" + std::string(2000, 'x') + "\"]");
  say("a");
  world_.child().say(large);
  say("b");
  const std::string before = id_of(first_, note_text("a"));
  const std::string after = id_of(first_, large);
  EXPECT_THAT(first_.take(), ElementsAre(note_text("a"), large, note_text("b")));
  world_.leave(first_);
  EXPECT_EQ(resume(second_, before), Resumed::event_lost);
  EXPECT_EQ(resume(second_, after), Resumed::yes);
  EXPECT_THAT(second_.take(), ElementsAre(note_text("b")));
}

}  // namespace
}  // namespace stdgate::test
