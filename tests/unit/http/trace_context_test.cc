#include "transports/http/trace_context.h"

#include <gtest/gtest.h>

namespace stdgate {
namespace {

// The examples of W3C Trace Context, section 3.2, and its invalid forms.
TEST(TraceContext, TraceIdOfTraceparent) {
  constexpr std::string_view kId = "4bf92f3577b34da6a3ce929d0e0e4736";
  struct Case {
    const char* header;
    std::string_view id;
  };
  const Case cases[] = {
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", kId},
      {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", kId},
      {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
      {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
      {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", ""},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736", ""},
      {"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
      {"", ""},
  };
  for (const Case& test : cases) EXPECT_EQ(trace_id_of(test.header), test.id) << test.header;
}

}  // namespace
}  // namespace stdgate
