// Where an endpoint of MCP's older transport may be.
#include <gtest/gtest.h>

#include "gateway/remote/http_remote.h"

namespace stdgate::remote {
namespace {

TEST(SameOriginUrl, Table) {
  struct Case {
    const char* reference;
    const char* url;
  };
  const Case cases[] = {
      {"/messages?id=1", "https://a.example:8/messages?id=1"},
      {"messages", "https://a.example:8/x/messages"},
      {"?id=1", "https://a.example:8/x/sse?id=1"},
      {"https://a.example:8/m", "https://a.example:8/m"},
      {"https://a.example/m", ""},
      {"http://a.example:8/m", ""},
      {"https://a.example:8@evil/m", ""},
      {"//evil/m", ""},
      {"\\\\evil\\m", ""},
      {"javascript:alert(1)", ""},
      {"file:///etc/passwd", ""},
      {"/a b", ""},
      {"", ""},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(same_origin_url("https://a.example:8/x/sse?q=/y", one.reference), one.url)
        << one.reference;
  }
}

}  // namespace
}  // namespace stdgate::remote
