// The events that the starter of a transfer receives, and their order.
#include "transports/fetch/curl_web_client.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/loop_runner.h"
#include "tests/unit/fetch/plain_server.h"

namespace stdgate {
namespace {

using fetch::CurlWebClient;
using remote::WebFailure;
using remote::WebMethod;
using std::chrono::milliseconds;
using test::run_for;
using test::run_until;
using test::StreamOwner;

struct TransferOwner final : remote::WebEvents {
  void on_head(const remote::WebHead& of_response) override {
    EXPECT_FALSE(head) << "comes once";
    head = of_response;
    call(head_hook);
  }
  void on_body(std::string_view bytes) override {
    EXPECT_TRUE(head && ends == 0);
    body.append(bytes);
    call(body_hook);
  }
  void on_end(const WebFailure* why) override {
    ++ends;
    if (why != nullptr) failure = *why;
    call(end_hook);
  }
  static void call(const std::function<void()>& hook) {
    if (hook) hook();
  }

  std::optional<remote::WebHead> head;
  std::string body;
  int ends = 0;
  std::optional<WebFailure> failure;
  std::function<void()> head_hook, body_hook, end_hook;
};

class CurlWebClientTest : public testing::Test {
 protected:
  // Answers each request with these bytes once its head has arrived.
  void answer_all(std::string text, bool closes = false) {
    server_.on_bytes = [text = std::move(text), closes](StreamOwner& peer) {
      if (!peer.bytes.ends_with("\r\n\r\n") && !peer.bytes.ends_with("}")) return;
      peer.stream->write(text);
      if (closes) peer.stream->shutdown_write();
    };
  }
  void start(WebMethod method = WebMethod::get, std::string body = {}, Duration time = {}) {
    transfer_ = web_.start({method, server_.url() + "/mcp", {}, std::move(body), time}, owner_);
  }
  bool run_to_end() {
    return run_until(loop_, [this] { return owner_.ends > 0; });
  }

  net::Loop loop_;
  test::PlainServer server_{loop_};
  CurlWebClient web_{loop_, {}};
  TransferOwner owner_;
  std::unique_ptr<remote::WebTransfer> transfer_;
};

TEST_F(CurlWebClientTest, TellsHeadBodyAndEnd) {
  answer_all(
      "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nMcp-Session-Id:  s \r\n\r\nhello");
  start();
  EXPECT_FALSE(owner_.head) << "never from within start()";
  ASSERT_TRUE(run_to_end());
  EXPECT_EQ(owner_.head->status, 200);
  EXPECT_EQ(owner_.head->find("mcp-session-id"), "s");
  EXPECT_EQ(owner_.head->find("link"), "") << "of the interim response";
  EXPECT_EQ(owner_.body, "hello");
  EXPECT_FALSE(owner_.failure);
}

// The client reads only a limited amount before it pauses, so the server has to wait too.
TEST_F(CurlWebClientTest, ReadsLittleWhilePaused) {
  const std::string body = test::pattern(32 << 20);
  answer_all("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
             body);
  owner_.head_hook = [this] { transfer_->pause(); };
  start();
  ASSERT_TRUE(run_until(loop_, [this] { return owner_.head.has_value(); }));
  run_for(loop_, milliseconds(50));
  EXPECT_EQ(owner_.body, "");
  EXPECT_GT(server_.last().stream->unsent_bytes(), 0U);
  transfer_->resume();
  ASSERT_TRUE(run_to_end());
  EXPECT_FALSE(owner_.failure);
  EXPECT_EQ(owner_.body, body);
}

TEST_F(CurlWebClientTest, RefusesALongHead) {
  answer_all("HTTP/1.1 200 OK\r\nA: " + std::string(CurlWebClient::kMaxHead, 'a') + "\r\n\r\n");
  start();
  ASSERT_TRUE(run_to_end());
  EXPECT_FALSE(owner_.head);
  EXPECT_EQ(owner_.failure->kind, WebFailure::Kind::too_large);
}

TEST_F(CurlWebClientTest, TellsThatABodyIsCut) {
  answer_all("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", true);
  start(WebMethod::post, "{}");
  ASSERT_TRUE(run_to_end());
  EXPECT_EQ(owner_.body, "hello");
  EXPECT_EQ(owner_.failure->kind, WebFailure::Kind::cut);
  EXPECT_TRUE(owner_.failure->may_be_sent);
}

TEST_F(CurlWebClientTest, KnowsThatNothingWasSent) {
  std::string nobody;
  {
    const test::PlainServer gone(loop_);
    nobody = gone.url();
  }
  transfer_ = web_.start({WebMethod::post, nobody, {}, "{}"}, owner_);
  ASSERT_TRUE(run_to_end());
  EXPECT_EQ(owner_.failure->kind, WebFailure::Kind::unconnected);
  EXPECT_FALSE(owner_.failure->may_be_sent);
}

// The server closes a kept connection without an answer to the second request.
TEST_F(CurlWebClientTest, SendsNothingTwice) {
  answer_all("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
  start(WebMethod::post, R"({"n":1})");
  ASSERT_TRUE(run_to_end());
  ASSERT_FALSE(owner_.failure);
  owner_ = {};
  server_.on_bytes = [](StreamOwner& peer) { peer.stream->shutdown_write(); };
  start(WebMethod::post, R"({"n":2})");
  ASSERT_TRUE(run_to_end());
  run_for(loop_, milliseconds(20));
  ASSERT_TRUE(owner_.failure);
  EXPECT_TRUE(owner_.failure->may_be_sent);
  EXPECT_EQ(server_.count(R"({"n":2})"), 1U);
}

TEST_F(CurlWebClientTest, HasItsTime) {
  start(WebMethod::get, {}, milliseconds(30));
  ASSERT_TRUE(run_to_end());
  EXPECT_EQ(owner_.ends, 1);
  EXPECT_FALSE(owner_.head);
}

TEST_F(CurlWebClientTest, MayBeDestroyedInEachOfItsEvents) {
  using Hook = std::function<void()> TransferOwner::*;
  answer_all("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  for (const Hook hook :
       {&TransferOwner::head_hook, &TransferOwner::body_hook, &TransferOwner::end_hook}) {
    owner_ = {};
    owner_.*hook = [this] { transfer_.reset(); };
    start();
    EXPECT_TRUE(run_until(loop_, [this] { return transfer_ == nullptr; }));
    const size_t told = owner_.body.size() + owner_.ends;
    run_for(loop_, milliseconds(10));
    EXPECT_EQ(owner_.body.size() + owner_.ends, told) << "nothing follows";
  }
}

}  // namespace
}  // namespace stdgate
