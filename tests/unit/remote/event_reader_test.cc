// EventReader: server-sent events, as a whole and cut at every position.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/remote/remote_stream.h"

namespace stdgate::remote {
namespace {

class Events final : public EventReader::Sink {
 public:
  void on_event(std::string_view name, std::span<char> data) override {
    lines.push_back(std::string(name) + "=" + std::string(data.data(), data.size()));
  }
  std::vector<std::string> lines;
};

struct Case {
  std::string text;
  std::vector<std::string> events;
  std::string last_id;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"data: a\n\n", {"message=a"}, ""},
      {"data:a\r\n\r\ndata: b\r\rdata: c\n\n", {"message=a", "message=b", "message=c"}, ""},
      {"\xef\xbb\xbf"
       "data: a\n\n",
       {"message=a"},
       ""},
      {"event: endpoint\ndata: /x\n\ndata: y\n\n", {"endpoint=/x", "message=y"}, ""},
      {"id: 1\ndata: a\n\ndata: b\n\n", {"message=a", "message=b"}, "1"},
      {"id: 1\ndata: \n\nid: 2\ndata: a", {}, "1"},  // the last event is incomplete
      {"id: 7\n\n", {}, "7"},
      {": comment\n\ndata: a\ndata: b\n\n", {"message=a\nb"}, ""},
      {"data\ndata: x\n\n", {"message=\nx"}, ""},
      {"unknown: 1\ndata:  two blanks\n\n", {"message= two blanks"}, ""},
      {std::string("id: a\0b\ndata: x\n\n", 17), {"message=x"}, ""},
  };
  return kCases;
}

TEST(EventReader, ReadsEventsHoweverTheyAreCut) {
  for (const Case& one : cases()) {
    for (size_t piece = 1; piece <= one.text.size(); ++piece) {
      EventReader reader(1000);
      Events events;
      for (size_t at = 0; at < one.text.size(); at += piece) {
        ASSERT_TRUE(reader.feed(std::string_view(one.text).substr(at, piece), events));
      }
      EXPECT_EQ(events.lines, one.events) << one.text;
      EXPECT_EQ(reader.last_id(), one.last_id) << one.text;
    }
  }
}

TEST(EventReader, AnEventHasALimit) {
  for (const size_t size : {94U, 95U}) {  // with the field's name: at the limit, and one above
    EventReader reader(100);
    Events events;
    EXPECT_EQ(reader.feed("data: " + std::string(size, 'x') + "\n\n", events), size == 94);
    EXPECT_EQ(events.lines.size(), size == 94 ? 1U : 0U);
  }
  EventReader lines(100);
  Events events;
  std::string many;
  for (int i = 0; i < 20; ++i) many += "data: 0123456789\n";
  EXPECT_FALSE(lines.feed(many, events));
}

TEST(EventReader, RetryIsBoundedAndTakenOnce) {
  EventReader reader(100);
  Events events;
  reader.feed("retry: 1500\n", events);
  EXPECT_EQ(reader.take_retry(), std::chrono::milliseconds(1500));
  EXPECT_EQ(reader.take_retry(), std::nullopt);
  reader.feed("retry: 99999999\nretry: x\nretry: -1\n", events);
  EXPECT_EQ(reader.take_retry(), EventReader::kMaxRetry);
}

TEST(EventReader, AnotherResponseGoesOnBehindTheLastCompleteEvent) {
  EventReader reader(100);
  Events events;
  reader.feed("id: 1\ndata: a\n\nid: 2\ndata: half", events);
  reader.restart();
  reader.feed("data: b\n\n", events);
  EXPECT_EQ(events.lines, (std::vector<std::string>{"message=a", "message=b"}));
  EXPECT_EQ(reader.last_id(), "1");
}

}  // namespace
}  // namespace stdgate::remote
