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

// The examples of W3C Trace Context, section 3.2, and its invalid forms.
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
  EXPECT_EQ(trace.flags, 2);  // the others have no meaning
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

}  // namespace
}  // namespace stdgate
