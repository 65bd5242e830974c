#include "gateway/base/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace stdgate {
namespace {

constexpr const char* kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::string trace_id_of(const char* traceparent) {
  TraceContext trace;
  if (!trace.read(traceparent)) {
    EXPECT_EQ(trace, TraceContext());
    return "";
  }
  return std::string(TraceIdText(trace).view());
}

// The examples of W3C Trace Context, section 3.2, and invalid forms.
TEST(TraceContext, TraceIdOfTraceparent) {
  constexpr std::string_view kId = "4bf92f3577b34da6a3ce929d0e0e4736";
  struct Case {
    const char* header;
    std::string_view id;
  };
  const Case cases[] = {
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", kId},
      {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", kId},
      {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", kId},
      {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", ""},
      {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
      {"0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
      {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
      {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bg-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736", ""},
      {"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
      {"", ""},
  };
  for (const Case& test : cases) EXPECT_EQ(trace_id_of(test.header), test.id) << test.header;
}

TEST(TraceContext, ParentAndFlags) {
  TraceContext trace;
  ASSERT_TRUE(trace.read(kParent));
  EXPECT_EQ(trace.parent_id,
            (std::array<uint8_t, 8>{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}));
  EXPECT_TRUE(trace.is_sampled());
  ASSERT_TRUE(trace.read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe"));
  EXPECT_EQ(trace.flags, 2);  // the other bits have no meaning
  EXPECT_FALSE(trace.is_sampled());
}

TEST(TraceContext, State) {
  TraceContext trace;
  trace.add_state("a=1");
  EXPECT_EQ(trace.state, "") << "without a trace";
  ASSERT_TRUE(trace.read(kParent));
  trace.add_state("rojo=00f067aa0ba902b7 , congo=t61rcWkgMzE,");
  trace.add_state(" ,\t, fw529a3039@dt=FfD0 x ");
  trace.add_state("");
  EXPECT_EQ(trace.state, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE,fw529a3039@dt=FfD0 x");
  trace.add_state("b=\x01");
  trace.add_state("b=\xc3\xa9");
  EXPECT_EQ(trace.state, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE,fw529a3039@dt=FfD0 x");
  EXPECT_FALSE(trace.read("malformed"));
  EXPECT_EQ(trace, TraceContext());
}

TEST(TraceContext, StateUpToItsLimit) {
  TraceContext trace;
  ASSERT_TRUE(trace.read(kParent));
  const std::string long_entry = "a=" + std::string(TraceContext::kMaxState - 2 - 4, 'x');
  trace.add_state(long_entry + ",b=1,c=2");
  EXPECT_EQ(trace.state, long_entry + ",b=1");
  EXPECT_EQ(trace.state.size(), TraceContext::kMaxState);
  ASSERT_TRUE(trace.read(kParent));
  trace.add_state("a=" + std::string(TraceContext::kMaxState, 'x'));
  EXPECT_EQ(trace.state, "");
}

TEST(TraceContext, NamesASpanAsParent) {
  TraceContext trace;
  ASSERT_TRUE(trace.read(kParent));
  EXPECT_EQ(trace.parent(), 0x00f067aa0ba902b7U);
  EXPECT_TRUE(trace.has_parent());
  EXPECT_EQ(SpanIdText(trace.parent()).view(), "00f067aa0ba902b7");
  EXPECT_EQ(SpanIdText(0xfedcba9876543210).view(), "fedcba9876543210");
  EXPECT_EQ(TraceParentText(trace, trace.parent()).view(), kParent);
  trace.flags = 0;
  EXPECT_EQ(TraceParentText(trace, 1).view(),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000001-00");
  EXPECT_FALSE(TraceContext().has_parent());
}

// --- The part of the header that is passed on (W3C Baggage, section 3.3).

TEST(Baggage, IsPassedOnAsItCame) {
  for (const std::string good :
       {"a=1", "a=", "key1=value1;property1;property2, key2 = value2, key3=value3; propertyKey=x",
        "serverNode=DF%2028,isProduction=false", "a=b=c", "!#$%&'*+-.^_`|~0Az=!~[]{}<>@/?:()",
        "a\t=\t1 ;\tp , b=2"}) {
    EXPECT_EQ(Baggage(good).text(), good);
    EXPECT_FALSE(Baggage(good).is_none()) << good;
  }
}

TEST(Baggage, IsNoneIfAnyOfItIsMalformed) {
  for (const std::string bad :
       {"",       " ",      ",",     "a",          "=1",         "a=1,",  ",a=1",    "a=1,,b=2",
        "a=1;",   "a=1;;p", "a;p=1", "a=1;=2",     "a b=1",      "a=b c", "a=\"b\"", "a=\\",
        "a=\x7f", "a=\x01", "a=1\n", "\xc3\xa4=1", "a=\xc3\xa4", "a=1,b", "a=1;p q"}) {
    EXPECT_TRUE(Baggage(bad).is_none()) << bad;
    EXPECT_EQ(Baggage(bad).text(), "");
  }
}

TEST(Baggage, UpToItsLimits) {
  const std::string longest = "a=" + std::string(Baggage::kMaxBytes - 2, 'x');
  EXPECT_EQ(Baggage(longest).text(), longest);
  EXPECT_TRUE(Baggage(longest + "x").is_none());
  std::string most = "a=1";
  for (size_t i = 1; i < Baggage::kMaxMembers; ++i) most += ",a=1";
  EXPECT_EQ(Baggage(most).text(), most);
  EXPECT_TRUE(Baggage(most + ",a=1").is_none());
}

TEST(Baggage, CopiesShareTheText) {
  const Baggage one("a=1");
  const Baggage copy = one;  // NOLINT(performance-unnecessary-copy-initialization): that is tested
  EXPECT_EQ(one.text().data(), copy.text().data());
  EXPECT_EQ(one, Baggage("a=1"));
  EXPECT_NE(one, Baggage());
}

}  // namespace
}  // namespace stdgate
