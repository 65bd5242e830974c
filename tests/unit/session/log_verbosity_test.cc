#include "gateway/session/log_verbosity.h"

#include <gtest/gtest.h>

namespace stdgate {
namespace {

TEST(Severities, AreThoseOfRfc5424) {
  const std::array<const char*, session::kSeverityCount> names = {
      "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(session::parse_severity(names[i]), static_cast<session::Severity>(i));
    EXPECT_EQ(session::severity_name(static_cast<session::Severity>(i)), names[i]);
  }
  for (const char* text : {"", "Debug", "warn", "debug ", "0"}) {
    EXPECT_FALSE(session::parse_severity(text).has_value()) << text;
  }
}

TEST(LogVerbosity, AChildIsToldTheLowestThatAnySessionWants) {
  session::LogVerbosity log;
  EXPECT_TRUE(log.settled());
  log.add_session(std::nullopt);
  EXPECT_FALSE(log.take(1, false).has_value()) << "its own default";
  log.add_session(session::Severity::error);
  EXPECT_EQ(log.take(1, false), session::Severity::info) << "the other session wants its default";
  EXPECT_FALSE(log.take(1, false).has_value()) << "it has been told";
  log.add_session(session::Severity::debug);
  EXPECT_EQ(log.take(1, false), session::Severity::debug);
  EXPECT_EQ(log.take(2, false), session::Severity::debug) << "each child";
  log.remove_session(session::Severity::debug);
  EXPECT_EQ(log.take(1, false), session::Severity::info);
  log.remove_session(std::nullopt);
  EXPECT_EQ(log.take(1, false), session::Severity::error);
  log.remove_session(session::Severity::error);
  EXPECT_EQ(log.take(1, false), session::Severity::info) << "as before";
  log.lose_child(1);
  log.lose_child(2);
  EXPECT_TRUE(log.settled());
}

TEST(LogVerbosity, CallsCountAtTheChildrenThatServeThem) {
  session::LogVerbosity log;
  EXPECT_TRUE(log.note_call(session::Severity::error));
  EXPECT_FALSE(log.settled());
  EXPECT_EQ(log.take(1, true), session::Severity::info) << "by default they send no less";
  EXPECT_TRUE(log.note_call(session::Severity::debug));
  EXPECT_FALSE(log.note_call(session::Severity::debug));
  EXPECT_FALSE(log.note_call(session::Severity::error)) << "the lowest is kept";
  EXPECT_EQ(log.take(1, true), session::Severity::debug);
  EXPECT_FALSE(log.take(1, true).has_value());
  EXPECT_FALSE(log.take(2, false).has_value());
  log.add_session(session::Severity::warning);
  EXPECT_EQ(log.take(2, false), session::Severity::warning);
  EXPECT_FALSE(log.take(1, true).has_value());
}

TEST(LogVerbosity, EachSessionGetsItsOwn) {
  session::LogVerbosity log;
  EXPECT_TRUE(log.passes(1, std::nullopt, session::Severity::debug))
      << "what the child does by default";
  EXPECT_TRUE(log.passes(1, session::Severity::error, session::Severity::error));
  EXPECT_FALSE(log.passes(1, session::Severity::error, session::Severity::warning));
  log.add_session(session::Severity::debug);
  log.take(1, false);
  EXPECT_FALSE(log.passes(1, std::nullopt, session::Severity::debug)) << "that is for the other";
  EXPECT_TRUE(log.passes(1, std::nullopt, session::Severity::info));
  EXPECT_TRUE(log.passes(2, std::nullopt, session::Severity::debug));
}

}  // namespace
}  // namespace stdgate
