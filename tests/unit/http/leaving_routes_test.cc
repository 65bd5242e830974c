// Paths that are no longer served: only requests that continue something that began there may use
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/http/http_world.h"
#include "transports/http/router.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// An endpoint with something that lasts. A request continues it by naming its number.
class Lasting final : public http::Endpoint {
 public:
  explicit Lasting(std::string number) : number_(std::move(number)) {}

  [[nodiscard]] bool continues(const http::RequestHead& head) const override {
    const http::HeaderField* const named = head.find("number");
    return named != nullptr && named->value == number_;
  }
  std::optional<http::HttpError> admit(http::Exchange& /*exchange*/) override {
    return std::nullopt;
  }
  void serve(http::Exchange& exchange, std::span<char> /*body*/) override {
    const std::string_view body = number_;
    exchange.respond({.body = {&body, 1}});
  }

 private:
  const std::string number_;
};

class LeavingRoutes : public testing::Test {
 protected:
  LeavingRoutes() { leave("/gone", "1"); }
  size_t leave(const std::string& path, const std::string& number) {
    http::Router others(world_.policy);
    others.add(path, "", std::make_unique<Lasting>(number));
    return world_.router.replace_leaving(others).size();
  }
  // Each request has a different head, so that no judgement is reused.
  Answer ask(const std::string& target, const std::string& number = "") {
    std::string fields = "Asked: " + std::to_string(++asked_) + "\r\n";
    if (!number.empty()) fields += "Number: " + number + "\r\n";
    return client_.ask(get(target, fields));
  }

  HttpWorld world_;
  TestClient client_{world_};
  int asked_ = 0;
};

TEST_F(LeavingRoutes, AreThereForWhatWasBegun) {
  EXPECT_EQ(ask("/gone", "1").body, "1");
  EXPECT_EQ(ask("/gone/", "1").body, "1");
  EXPECT_EQ(ask("/gone", "2").status, 404);
  EXPECT_EQ(ask("/other", "1").status, 404);
}

TEST_F(LeavingRoutes, AreUnknownPathsToAllOthers) {
  const Answer gone = ask("/gone");
  const Answer never = ask("/never");
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.fields, never.fields);
  EXPECT_EQ(gone.body, never.body);
  EXPECT_THAT(gone.body, Not(HasSubstr("/gone")));
  EXPECT_THAT(world_.router.index_text("title"), Not(HasSubstr("/gone")));
  EXPECT_THAT(client_.ask(post(call("1", "echo", "[]"), "", "/gone")).body,
              Not(HasSubstr("/gone")));
}

// A preflight does not say which request it is for.
TEST_F(LeavingRoutes, ArePreflightedForAll) {
  const Answer answer = client_.ask(
      "OPTIONS /gone HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3000\r\n"
      "Access-Control-Request-Method: GET\r\n\r\n");
  EXPECT_EQ(answer.status, 204);
  EXPECT_THAT(answer.field("Access-Control-Allow-Methods"), HasSubstr("GET"));
}

TEST_F(LeavingRoutes, GiveWayToOthersAndAreReplaced) {
  EXPECT_EQ(leave("/gone", "2"), 1U) << "those before";
  EXPECT_EQ(ask("/gone", "1").status, 404);
  EXPECT_EQ(ask("/gone", "2").body, "2");
  world_.router.add("/gone", "", std::make_unique<Lasting>("3"));
  EXPECT_EQ(ask("/gone", "2").body, "3");
}

}  // namespace
}  // namespace stdgate::test
