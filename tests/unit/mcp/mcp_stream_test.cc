// McpStream: one response of an MCP session, as a document or as a stream, and its resumption.

#include "gateway/mcp/mcp_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_event_sink.h"
#include "tests/support/rpc_texts.h"

namespace stdgate {
namespace {

using test::FakeEventSink;
using test::note_text;
using test::result_text;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kPlenty = 1 << 20;

// Stands for a session: only the parts that streams use.
struct StreamOwner final : mcp::McpStreamOwner {
  StreamOwner(StoragePool& storages, mcp::McpRevision its_revision)
      : kept{"abc", session::ReplayLog(100, kPlenty, storages), storages}, spoken(its_revision) {}
  [[nodiscard]] mcp::McpRevision revision() const override { return spoken; }
  [[nodiscard]] std::string_view event_name() const override { return name; }
  [[nodiscard]] mcp::McpEventLog* events() override { return has_ids ? &kept : nullptr; }

  mcp::McpEventLog kept;
  mcp::McpRevision spoken;
  std::string_view name;
  bool has_ids = true;
};

class McpStreamTest : public testing::Test {
 protected:
  // Hands over a POST with this number of requests.
  mcp::McpStream& post(size_t requests, bool batch = false, size_t limit = kPlenty) {
    stream_.emplace(7, owner_);
    stream_->attach(sink_);
    stream_->begin_messages(TimePoint{}, batch, rpc::CodeSet::mcp, limit);
    for (size_t i = 0; i < requests; ++i) stream_->expect();
    stream_->end_messages();
    return *stream_;
  }
  void answer(const std::string& id) {
    const std::string text = result_text(id);
    session::Reply reply;
    reply.head = text;
    stream_->answer(reply);
  }
  void write(const std::string& text) {
    const std::string_view view = text;
    stream_->write({&view, 1});
  }
  void leave() {
    sink_.leave();
    stream_->detach();
  }

  StoragePool storages_;
  StreamOwner owner_{storages_, mcp::McpRevision::v2025_06_18};
  FakeEventSink sink_;
  FakeEventSink second_;
  std::optional<mcp::McpStream> stream_;
};

TEST_F(McpStreamTest, AnAnswerAloneIsADocument) {
  mcp::McpStream& stream = post(1);
  EXPECT_FALSE(stream.finished());
  EXPECT_TRUE(stream.is_quiet());
  answer("1");
  EXPECT_EQ(sink_.json, result_text("1"));
  EXPECT_FALSE(sink_.streaming);
  EXPECT_TRUE(stream.finished());
  EXPECT_FALSE(stream.has_sink());
  EXPECT_EQ(owner_.kept.log.last(), 0U) << "there is nothing to resume";
}

TEST_F(McpStreamTest, WhatComesBeforeTheAnswerMakesItAStream) {
  mcp::McpStream& stream = post(1);
  write(note_text("a"));
  EXPECT_FALSE(stream.is_quiet());
  write(note_text("b"));
  answer("1");
  EXPECT_THAT(sink_.take(), ElementsAre(note_text("a"), note_text("b"), result_text("1")));
  EXPECT_TRUE(sink_.ended);
  EXPECT_TRUE(stream.finished());
}

TEST_F(McpStreamTest, IdsNameSessionAndStreamAndAscend) {
  post(1);
  mcp::McpStream other(0, owner_);
  FakeEventSink get;
  other.attach(get);
  write(note_text("a"));
  const std::string text = note_text("x");
  const std::string_view view = text;
  other.write({&view, 1});
  answer("1");
  EXPECT_EQ(sink_.events.at(0).id, "abc-7-1");
  EXPECT_EQ(get.events.at(0).id, "abc-0-2");
  EXPECT_EQ(sink_.events.at(1).id, "abc-7-3");
}

TEST_F(McpStreamTest, StreamsBeginWithAPrimingEventWhereTheRevisionHasThem) {
  struct Case {
    mcp::McpRevision revision;
    bool primes;
  };
  for (const auto& [revision, primes] :
       {Case{mcp::McpRevision::v2024_11_05, false}, Case{mcp::McpRevision::v2025_03_26, false},
        Case{mcp::McpRevision::v2025_06_18, false}, Case{mcp::McpRevision::v2025_11_25, true}}) {
    StreamOwner owner(storages_, revision);
    mcp::McpStream stream(3, owner);
    FakeEventSink sink;
    stream.attach(sink);
    stream.begin();
    EXPECT_TRUE(sink.streaming) << "its head tells the client that it is heard";
    EXPECT_EQ(sink.events.size(), primes ? 1U : 0U);
    if (!primes) continue;
    EXPECT_EQ(sink.events[0].id, "abc-3-1");
    EXPECT_EQ(sink.events[0].data, "");
    EXPECT_EQ(sink.events[0].retry_ms, 0U) << "some clients know no such field";
    const std::string_view text = "{}";
    stream.write({&text, 1});
    ASSERT_EQ(sink.events.size(), 2U) << "once";
    EXPECT_EQ(sink.events[1].id, "abc-3-2");
    EXPECT_EQ(sink.events[1].retry_ms, 0U);
  }
}

TEST_F(McpStreamTest, AWriteBeginsTheStreamWithItsPrimingEvent) {
  owner_.spoken = mcp::McpRevision::v2025_11_25;
  post(1);
  write(note_text("a"));
  ASSERT_EQ(sink_.events.size(), 2U);
  EXPECT_EQ(sink_.events[0].data, "");
  EXPECT_EQ(sink_.events[1].data, note_text("a"));
}

TEST_F(McpStreamTest, TheOldTransportHasNamesAndNoIds) {
  owner_.spoken = mcp::McpRevision::v2025_11_25;
  owner_.has_ids = false;
  owner_.name = "message";
  stream_.emplace(0, owner_);
  stream_->attach(sink_);
  stream_->begin();
  EXPECT_THAT(sink_.events, IsEmpty());
  const std::string text = note_text("a");
  const std::string_view view = text;
  stream_->write("endpoint", {&view, 1});
  stream_->write({&view, 1});
  ASSERT_EQ(sink_.events.size(), 2U);
  EXPECT_EQ(sink_.events[0].name, "endpoint");
  EXPECT_EQ(sink_.events[1].name, "message");
  EXPECT_EQ(sink_.events[0].id, "");
  EXPECT_EQ(owner_.kept.log.bytes(), 0U) << "nothing can be resumed, nothing is kept";
}

// --- Batches --------------------------------------------------------------------------------

TEST_F(McpStreamTest, ABatchIsAnsweredByOneArray) {
  mcp::McpStream& stream = post(2, true);
  answer("2");
  EXPECT_FALSE(sink_.over);
  answer("1");
  EXPECT_EQ(sink_.json, "[" + result_text("2") + "," + result_text("1") + "]");
  EXPECT_TRUE(stream.finished());
}

TEST_F(McpStreamTest, ABatchOfOneIsAnArrayToo) {
  post(1, true);
  answer("1");
  EXPECT_EQ(sink_.json, "[" + result_text("1") + "]");
}

TEST_F(McpStreamTest, AnswersThatWaitedGoFirstWhenABatchBecomesAStream) {
  post(3, true);
  answer("1");
  answer("2");
  write(note_text("a"));
  answer("3");
  EXPECT_THAT(sink_.take(), ElementsAre("[" + result_text("1") + "," + result_text("2") + "]",
                                        note_text("a"), result_text("3")));
  EXPECT_TRUE(sink_.ended);
}

TEST_F(McpStreamTest, AnEventBeforeAllAnswersLeavesNoArray) {
  post(2, true);
  write(note_text("a"));
  answer("1");
  answer("2");
  EXPECT_THAT(sink_.take(), ElementsAre(note_text("a"), result_text("1"), result_text("2")));
}

TEST_F(McpStreamTest, AnswersThatWaitedAreNotLostWhenTheRestIsCancelled) {
  mcp::McpStream& stream = post(2, true);
  answer("1");
  stream.begin();
  stream.leave_out();
  EXPECT_THAT(sink_.take(), ElementsAre("[" + result_text("1") + "]"));
  EXPECT_TRUE(sink_.ended);
  EXPECT_TRUE(stream.finished());
}

TEST_F(McpStreamTest, AQuietBatchWhoseRestIsCancelledIsADocument) {
  mcp::McpStream& stream = post(2, true);
  answer("1");
  stream.leave_out();
  EXPECT_EQ(sink_.json, "[" + result_text("1") + "]");
}

TEST_F(McpStreamTest, ABatchThatIsAllCancelledJustEnds) {
  mcp::McpStream& stream = post(2, true);
  stream.leave_out();
  EXPECT_FALSE(sink_.over);
  stream.leave_out();
  EXPECT_TRUE(sink_.ended);
  EXPECT_FALSE(sink_.json);
  EXPECT_TRUE(stream.finished());
}

TEST_F(McpStreamTest, ACancelledCallJustEnds) {
  mcp::McpStream& stream = post(1);
  stream.leave_out();
  EXPECT_TRUE(sink_.ended);
  EXPECT_THAT(sink_.take(), IsEmpty());
  EXPECT_TRUE(stream.finished());
}

TEST_F(McpStreamTest, AnAnswerInTheMiddleOfTheHandOverDoesNotFinish) {
  for (const bool batch : {false, true}) {
    mcp::McpStream stream(1, owner_);
    FakeEventSink sink;
    stream.attach(sink);
    stream.begin_messages(TimePoint{}, batch, rpc::CodeSet::mcp, kPlenty);
    stream.expect();
    const std::string text = result_text("1");
    session::Reply reply;
    reply.head = text;
    stream.answer(reply);
    EXPECT_FALSE(stream.finished()) << batch;
    stream.end_messages();
    EXPECT_TRUE(stream.finished()) << batch;
    EXPECT_EQ(sink.json, batch ? "[" + text + "]" : text);
  }
}

// --- Without a response ---------------------------------------------------------------------

TEST_F(McpStreamTest, AnAnswerThatNobodyCanAskForIsNotKept) {
  mcp::McpStream& stream = post(1);
  leave();
  answer("1");
  EXPECT_TRUE(stream.finished());
  EXPECT_EQ(owner_.kept.log.bytes(), 0U);
}

TEST_F(McpStreamTest, AStreamGoesOnInTheLog) {
  mcp::McpStream& stream = post(1);
  write(note_text("a"));
  leave();
  write(note_text("b"));
  EXPECT_FALSE(stream.finished());
  stream.attach(second_);
  stream.replay_after(1);
  EXPECT_THAT(second_.take(), ElementsAre(note_text("b")));
  write(note_text("c"));
  answer("1");
  EXPECT_THAT(second_.take(), ElementsAre(note_text("c"), result_text("1")));
  EXPECT_TRUE(second_.ended);
}

TEST_F(McpStreamTest, AnAnswerWaitsInTheLogToo) {
  mcp::McpStream& stream = post(1);
  write(note_text("a"));
  leave();
  answer("1");
  EXPECT_TRUE(stream.finished());
  mcp::McpStream again(7, owner_);
  again.attach(second_);
  again.replay_after(1);
  again.end();
  EXPECT_THAT(second_.take(), ElementsAre(result_text("1")));
}

TEST_F(McpStreamTest, AReplayBeginsTheStreamEvenIfThereIsNothing) {
  mcp::McpStream& stream = post(1);
  write(note_text("a"));
  leave();
  stream.attach(second_);
  stream.replay_after(1);
  EXPECT_TRUE(second_.streaming);
  EXPECT_THAT(second_.events, IsEmpty());
}

TEST_F(McpStreamTest, ASecondResponseEndsTheFirst) {
  mcp::McpStream& stream = post(1);
  write(note_text("a"));
  stream.attach(second_);
  EXPECT_TRUE(sink_.ended);
  answer("1");
  EXPECT_THAT(second_.take(), ElementsAre(result_text("1")));
}

TEST_F(McpStreamTest, WhatNobodyHasHadIsWrittenOnceUnderAscendingIds) {
  owner_.spoken = mcp::McpRevision::v2025_11_25;
  stream_.emplace(0, owner_);
  write(note_text("a"));
  write(note_text("b"));
  stream_->attach(sink_);
  stream_->begin();
  stream_->write_undelivered();
  write(note_text("c"));
  ASSERT_EQ(sink_.events.size(), 4U);
  uint64_t last = 0;
  for (const auto& event : sink_.events) {
    const uint64_t number = std::stoull(event.id.substr(event.id.rfind('-') + 1));
    EXPECT_GT(number, last);
    last = number;
  }
  EXPECT_THAT(sink_.take(), ElementsAre(note_text("a"), note_text("b"), note_text("c")));
  leave();
  stream_->attach(second_);
  stream_->begin();
  stream_->write_undelivered();
  EXPECT_THAT(second_.take(), IsEmpty());
}

// --- A client that leaves in the middle -----------------------------------------------------

TEST_F(McpStreamTest, TheClientMayLeaveInsideOfAnyCall) {
  owner_.spoken = mcp::McpRevision::v2025_11_25;
  for (int nth = 1; nth <= 5; ++nth) {
    FakeEventSink sink;
    mcp::McpStream& stream = stream_.emplace(nth, owner_);
    int calls = 0;
    sink.during = [&] {
      if (++calls != nth) return;
      sink.leave();
      stream.detach();
    };
    stream.attach(sink);
    stream.begin_messages(TimePoint{}, true, rpc::CodeSet::mcp, kPlenty);
    stream.expect();
    stream.expect();
    stream.end_messages();
    answer("1");
    write(note_text("a"));
    write(note_text("b"));
    answer("2");
    EXPECT_EQ(calls, nth);
    EXPECT_TRUE(stream.finished()) << nth;
    FakeEventSink second;
    mcp::McpStream again(static_cast<uint32_t>(nth), owner_);
    again.attach(second);
    again.replay_after(0);
    EXPECT_THAT(second.take(), ElementsAre("[" + result_text("1") + "]", note_text("a"),
                                           note_text("b"), result_text("2")))
        << nth;
  }
}

TEST_F(McpStreamTest, TheClientMayLeaveInsideOfAReplay) {
  stream_.emplace(0, owner_);
  for (const char* name : {"a", "b", "c"}) write(note_text(name));
  for (const size_t most : {size_t{1}, size_t{2}, size_t{3}}) {
    FakeEventSink sink;
    sink.during = [&] {
      if (sink.events.size() < most) return;
      sink.leave();
      stream_->detach();
    };
    stream_->attach(sink);
    stream_->replay_after(0);
    EXPECT_EQ(sink.events.size(), most);
    EXPECT_FALSE(stream_->has_sink());
  }
}

TEST_F(McpStreamTest, TheClientMayLeaveBeforeAReplayHasBegun) {
  stream_.emplace(0, owner_);
  write(note_text("a"));
  sink_.during = [this] { leave(); };
  stream_->attach(sink_);
  stream_->replay_after(0);
  EXPECT_THAT(sink_.events, IsEmpty());
}

TEST_F(McpStreamTest, WhatWasNotWrittenWhenTheClientLeftIsForTheNext) {
  stream_.emplace(0, owner_);
  for (const char* name : {"a", "b", "c"}) write(note_text(name));
  sink_.during = [this] {
    if (sink_.events.size() == 2) leave();
  };
  stream_->attach(sink_);
  stream_->begin();
  stream_->write_undelivered();
  EXPECT_THAT(sink_.take(), ElementsAre(note_text("a"), note_text("b")));
  stream_->attach(second_);
  stream_->begin();
  stream_->write_undelivered();
  EXPECT_THAT(second_.take(), ElementsAre(note_text("c")));
}

// --- A request without a session --------------------------------------------------------------

// Keeps no events, because nothing of such a request can be resumed.
struct OneRequest final : mcp::McpStreamOwner {
  [[nodiscard]] mcp::McpRevision revision() const override { return mcp::McpRevision::v2025_11_25; }
};

TEST(McpStreamAlone, ServesARequestWithoutASession) {
  OneRequest request;
  for (const bool is_told : {false, true}) {
    FakeEventSink sink;
    mcp::McpStream stream(1, request);
    stream.attach(sink);
    stream.begin_messages(TimePoint{}, false, rpc::CodeSet::mcp, kPlenty);
    stream.expect();
    stream.end_messages();
    stream.write_undelivered();
    const std::string note = note_text("a");
    const std::string_view view = note;
    if (is_told) stream.write({&view, 1});
    const std::string text = result_text("1");
    session::Reply reply;
    reply.head = text;
    stream.answer(reply);
    EXPECT_TRUE(stream.finished());
    EXPECT_FALSE(stream.has_sink());
    EXPECT_EQ(sink.streaming, is_told);
    if (!is_told) {
      EXPECT_EQ(sink.json, text);
      continue;
    }
    EXPECT_TRUE(sink.ended);
    ASSERT_EQ(sink.events.size(), 2U) << "no event that is there for its id alone";
    for (const auto& event : sink.events) EXPECT_EQ(event.id, "");
    EXPECT_THAT(sink.take(), ElementsAre(note, text));
  }
}

}  // namespace
}  // namespace stdgate
