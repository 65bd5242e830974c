// Problem: what a server's refusals mean, and what users are told about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gateway/remote/remote.h"

namespace stdgate::remote {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

WebHead head_of(int status, std::vector<std::pair<std::string, std::string>> fields = {}) {
  WebHead head;
  head.status = status;
  head.fields = std::move(fields);
  return head;
}

std::string error_of(const std::string& message, const std::string& id) {
  return R"({"jsonrpc":"2.0",)" + id + R"("error":{"code":-32000,"message":")" + message + R"("}})";
}

struct Refusal {
  int status;
  std::string body;
  bool names_lost_session;
};

TEST(Problem, ALostSessionIsToldInManyWays) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {404, "", true},
           {400, error_of("Bad Request: No valid session ID provided", R"("id":null,)"), true},
           {400, error_of("Bad Request: No valid session ID provided", ""), true},
           {400, error_of("Bad Request: Server not initialized", R"("id":null,)"), true},
           {401, "Unauthorized: Session not found", true},
           {400, error_of("no such tool", R"("id":1,)"), false},
           {400, "null", false},
           {400, "", false},
           {401, R"({"error":"invalid_token"})", false},
           {403, "no session", false},
           {500, "no session", false},
       }) {
    EXPECT_EQ(names_lost_session(head_of(refusal.status), refusal.body), refusal.names_lost_session)
        << refusal.status << ' ' << refusal.body;
  }
}

TEST(Problem, AChallengeIsNoLostSession) {
  EXPECT_FALSE(names_lost_session(head_of(401, {{"www-authenticate", "Bearer"}}), "no session"));
}

TEST(Problem, ACredentialThatIsNotAcceptedIsNamed) {
  EXPECT_EQ(problem_of(head_of(401), "", "http://x/mcp", "the key of k.txt").message,
            "http://x/mcp does not accept the key of k.txt (401)");
  EXPECT_THAT(problem_of(head_of(401), "", "http://x/mcp").message,
              HasSubstr("--api-key-file, --token-file or --token-command"));
}

TEST(Problem, AMissingGreetingIsToldOnce) {
  EXPECT_EQ(missing_greeting(error_of("No session", R"("id":null,)"), "http://x/mcp").message,
            "send initialize first: http://x/mcp keeps sessions, and says: No session");
  EXPECT_EQ(missing_greeting("send initialize first, then more", "http://x/mcp").message,
            "send initialize first: http://x/mcp keeps sessions");
}

TEST(Problem, TheTextOfAnErrorIsToldWithoutItsIdToo) {
  EXPECT_THAT(problem_of(head_of(400), error_of("no", ""), "http://x/mcp").message,
              EndsWith("status 400: no"));
  EXPECT_THAT(problem_of(head_of(400), R"({"error":{"message":7}})", "http://x/mcp").message,
              EndsWith(R"(status 400: {"error":{"message":7}})"));
  EXPECT_THAT(problem_of(head_of(400), "null", "http://x/mcp").message, EndsWith("400: null"));
}

TEST(Problem, TlsWithAServerThatSpeaksNoneIsToldApart) {
  const auto said = [](const char* detail) {
    return problem_of({WebFailure::Kind::untrusted, detail, false}, "https://x/mcp").message;
  };
  EXPECT_THAT(said("SSL routines::wrong version number"), EndsWith("it may speak http:// there"));
  EXPECT_THAT(said("self-signed certificate"), HasSubstr("--ca FILE"));
}

TEST(Problem, AnAddressWithoutAPathGetsAHint) {
  for (const char* const url : {"http://x", "http://x/"}) {
    EXPECT_THAT(problem_of(head_of(404), "", url).message, HasSubstr("are at /mcp or /sse"));
  }
  EXPECT_THAT(problem_of(head_of(404), "", "http://x/mcp").message, EndsWith("(404)"));
}

}  // namespace
}  // namespace stdgate::remote
