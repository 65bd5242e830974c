// HttpClient: the words for a request that had no answer.
#include "transports/fetch/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/fetch/plain_server.h"

namespace stdgate {
namespace {

using fetch::HttpClient;
using std::chrono::milliseconds;
using testing::StartsWith;

// The loop does not run: the kernel takes the connection, and nobody answers.
TEST(HttpClientTest, AGatewayThatIsSilentWasReached) {
  net::Loop loop;
  const test::PlainServer server(loop);
  HttpClient client({server.url(), {}, {}, milliseconds(300)});
  const std::string end = " within 300 ms; --timeout gives it longer";
  for (const char* const body : {"", "{}"}) {
    const auto answer = client.send("/a/rpc", body);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error(), "no answer from " + server.url() + "/a/rpc" + end);
  }
}

TEST(HttpClientTest, AGatewayThatIsNotThereCannotBeReached) {
  std::string url;
  {
    net::Loop loop;
    url = test::PlainServer(loop).url();
  }
  HttpClient client({url, {}, {}, std::chrono::seconds(30)});
  const auto answer = client.send("/a/rpc", "{}");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error(), StartsWith("cannot reach " + url + "/a/rpc: "));
}

}  // namespace
}  // namespace stdgate
