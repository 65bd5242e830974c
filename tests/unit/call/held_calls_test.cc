// KeptRequest: what the account of a client pays for a request that is held.
#include "gateway/call/held_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "gateway/rpc/message_text.h"

namespace stdgate::call {
namespace {

TEST(KeptRequest, PaysForAllThatItCopies) {
  std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m","params":{}})";
  const rpc::KnownMessage message(text);
  policy::Principal principal;
  TraceContext trace;
  CallContext context;
  context.principal = &principal;
  context.trace = &trace;
  const auto memory = [&] {
    return KeptRequest({message.envelope(), "m", ClientIntent{}, context}).memory();
  };
  const size_t bare = memory();
  EXPECT_GE(bare, text.size());

  const std::string fields(16'000, 'f');
  context.mirrored = fields;
  EXPECT_EQ(memory(), bare + 16'000);
  trace.state = std::string(500, 's');
  EXPECT_EQ(memory(), bare + 16'500);
  principal.name = std::string(100, 'n');
  principal.subject = std::string(200, 'n');
  EXPECT_EQ(memory(), bare + 16'800);
  principal.scopes = {std::string(1'000, 's')};
  EXPECT_EQ(memory(), bare + 17'800 + sizeof(std::string));
}

}  // namespace
}  // namespace stdgate::call
