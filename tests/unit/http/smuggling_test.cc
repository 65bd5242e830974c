// Request smuggling: requests that strict and lenient peers read differently. Each is refused with
// its status, the connection closes, and no later bytes are taken for a request.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

struct Shape {
  std::string text;
  int status;
};

std::string with(const std::string& fields, const std::string& body = "") {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + fields +
         "\r\n" + body;
}

std::string chunks(const std::string& body) { return with("Transfer-Encoding: chunked\r\n", body); }

std::vector<Shape> shapes() {
  const std::string call5 = "[]   ";
  return {
      // Two lengths.
      {with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400},
      {with("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", "0\r\n\r\n"), 400},
      {with("Content-Length: 5\r\nContent-Length: 5\r\n", call5), 400},
      {with("Content-Length: 5\r\nContent-Length: 6\r\n", call5), 400},
      {with("Content-Length: 5\r\nContent-Length:\r\n", call5), 400},
      {with("Content-Length: 5, 5\r\n", call5), 400},
      {with("Content-Length: 5,6\r\n", call5), 400},
      // Lengths that some parsers repair.
      {with("Content-Length: +5\r\n", call5), 400},
      {with("Content-Length: -1\r\n", call5), 400},
      {with("Content-Length: 0x5\r\n", call5), 400},
      {with("Content-Length: 5 5\r\n", call5), 400},
      {with("Content-Length: 5_0\r\n", call5), 400},
      {with("Content-Length: 5\v\r\n", call5), 400},
      {with("Content-Length: 18446744073709551621\r\n", call5), 400},
      {with("Content-Length:\r\n", call5), 400},
      {with("Content-Length: \r\n 5\r\n", call5), 400},
      {with("Content-Length : 5\r\n", call5), 400},
      {with("Content-Length\t: 5\r\n", call5), 400},
      {with(" Content-Length: 5\r\n", call5), 400},
      {with("X: y\r\n\tContent-Length: 5\r\n", call5), 400},
      {with("X: y\rContent-Length: 5\r\n", call5), 400},
      {with("X: y\nContent-Length: 5\r\n", call5), 400},
      {with(std::string("X: y\0Content-Length: 5\r\n", 24), call5), 400},
      // Codings that some parsers overlook.
      {with("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 400},
      {with("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), 400},
      {with("Transfer-Encoding: identity, chunked\r\n", "0\r\n\r\n"), 501},
      {with("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
      {with("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 400},
      {with("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", "0\r\n\r\n"), 400},
      {with("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 501},
      {with("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), 400},
      {with("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"), 400},
      {with("Transfer-Encoding: \x0b"
            "chunked\r\n",
            "0\r\n\r\n"),
       400},
      {with("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), 400},
      {with("Transfer-Encoding: chunked;x\r\n", "0\r\n\r\n"), 400},
      {with("Transfer\x80-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {with("X: y\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"POST /rpc HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      // Chunks.
      {chunks("5 \r\n[]   \r\n0\r\n\r\n"), 400},
      {chunks("5;\r\n[]   \r\n0\r\n\r\n"), 400},
      {chunks("0x5\r\n[]   \r\n0\r\n\r\n"), 400},
      {chunks("5\n[]   \r\n0\r\n\r\n"), 400},
      {chunks("5;a\n[]   \r\n0\r\n\r\n"), 400},
      {chunks("5\r\n[]   XX0\r\n\r\n"), 400},
      {chunks("5\r\n[]   \n0\r\n\r\n"), 400},
      {chunks("5\r\n[]     \r\n0\r\n\r\n"), 400},
      {chunks("5\r\n[]   \r\n0\r\n\n"), 400},
      {chunks("5\r\n[]   \r\n0\r\nX: y\nZ: 1\r\n\r\n"), 400},
      {chunks("5\r\n[]   \r\n0\r\n folded\r\n\r\n"), 400},
      {chunks("10000000000000005\r\n[]   \r\n0\r\n\r\n"), 400},
      {chunks("fffffffffffffff\r\n[]   \r\n0\r\n\r\n"), 413},
      // Request line and Host.
      {"POST /rpc HTTP/1.1\nHost: localhost\n\n", 400},
      {"POST /rpc HTTP/1.1\r\r\nHost: localhost\r\n\r\n", 400},
      {"POST  /rpc HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"POST /rpc HTTP/1.1 \r\nHost: localhost\r\n\r\n", 400},
      {"POST /rpc\r\nHost: localhost\r\n\r\n", 400},
      {"POST /rpc HTTP/2.0\r\nHost: localhost\r\n\r\n", 505},
      {"POST /rpc HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400},
      {"POST /rpc HTTP/1.1\r\n\r\n", 400},
      {"POST /rpc HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET /\r\nX: HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"SMUGGLE /rpc HTTP/1.1\r\nHost: localhost\r\n\r\n", 501},
      // A body where none is expected.
      {"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nGET ", 400},
      {"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nGET ", 204},
  };
}

TEST(Smuggling, EachShapeIsRefusedAndNothingBehindItIsServed) {
  HttpWorld world;
  const std::string second = post(call("\"smuggled\"", "echo", "[]"));
  for (const Shape& shape : shapes()) {
    TestClient client(world);
    const Answer answer = client.ask(shape.text + second);
    EXPECT_EQ(answer.status, shape.status) << testing::PrintToString(shape.text);
    EXPECT_EQ(answer.field("Connection"), "close") << testing::PrintToString(shape.text);
    EXPECT_TRUE(client.wait_closed()) << testing::PrintToString(shape.text);
    EXPECT_EQ(client.received, "") << testing::PrintToString(shape.text);
  }
  for (const std::string& outcome : world.observer.outcomes) EXPECT_EQ(outcome, "too_large");
}

TEST(Smuggling, VerdictsDoNotDependOnDelivery) {
  HttpWorld world;
  for (const Shape& shape : shapes()) {
    TestClient client(world);
    for (size_t i = 0; i < shape.text.size(); i += 3) {
      client.send(shape.text.substr(i, 3));
      world.loop.run_once();
    }
    const Answer answer = client.answer();
    EXPECT_EQ(answer.status, shape.status) << testing::PrintToString(shape.text);
    EXPECT_TRUE(client.wait_closed());
    EXPECT_EQ(client.received, "") << testing::PrintToString(shape.text);
  }
}

}  // namespace
}  // namespace stdgate::test
