// Two members of a virtual server that show the same name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/servers/members.h"
#include "tests/unit/servers/server_bench.h"

namespace stdgate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

config::ServerConfig with_prefixes(
    const std::vector<std::pair<std::string, std::string>>& members) {
  config::ServerConfig config;
  for (const auto& [backend, prefix] : members) {
    config::MemberConfig& member = config.members.emplace_back();
    member.backend = backend;
    member.prefix = prefix;
  }
  return config;
}

std::vector<std::string> clashes_in(const RecordingLog& log) {
  std::vector<std::string> lines = log.lines;
  std::erase_if(lines, [](const std::string& line) {
    return !line.starts_with("members show the same name");
  });
  return lines;
}

TEST(NameClashes, AreToldOnceWithBothMembers) {
  ServerBench bench({"one", "two"}, with_prefixes({{"one", ""}, {"two", ""}}));
  bench.member(0).script = with_tool("read");
  bench.member(1).script = with_tool("read");
  for (int i = 0; i < 3; ++i) {
    bench.ask("tools/list");
    bench.member(1).change_lists(1);
    bench.advance(std::chrono::seconds(2));
  }
  EXPECT_THAT(clashes_in(bench.log),
              testing::ElementsAre(AllOf(HasSubstr(" element=read "), HasSubstr(" shown=one "),
                                         HasSubstr(" left_out=two "), HasSubstr("tools.rename"))));
}

TEST(NameClashes, AreNoneWherePrefixesKeepMembersApart) {
  ServerBench bench({"one", "two"});
  bench.member(0).script = with_tool("read");
  bench.member(1).script = with_tool("read");
  bench.ask("tools/list");
  EXPECT_THAT(clashes_in(bench.log), testing::IsEmpty());
}

TEST(NameClashes, ComeFromPrefixesThatContinueEachOtherToo) {
  ServerBench bench({"a", "ab"}, with_prefixes({{"a", "a_"}, {"ab", "a_b_"}}));
  bench.member(0).script = with_tool("b_read");
  bench.member(1).script = with_tool("read");
  bench.ask("tools/list");
  EXPECT_THAT(clashes_in(bench.log), testing::ElementsAre(HasSubstr(" element=a_b_read ")));
}

}  // namespace
}  // namespace stdgate::test
