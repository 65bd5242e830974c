#include "gateway/servers/tool_search.h"

#include <gtest/gtest.h>

#include "gateway/rpc/json_member.h"

namespace stdgate::servers {
namespace {

std::string described(const std::string& description, const std::string& argument = "x") {
  return R"({"description":")" + description +
         R"(","inputSchema":{"type":"object","properties":{")" + argument + "\":{}}}}";
}

TEST(ToolSearch, FindsByNameDescriptionAndArguments) {
  ToolSearch search;
  search.add("files_readFile", described("Gives the text of a file", "path"));
  search.add("issues_create", described("Makes a new issue in a repository", "title"));
  search.add("issues_list", described("All issues of a repository"));
  search.add("maths_sum", described("Adds two numbers"));
  EXPECT_EQ(search.find("read a file").front(), "files_readFile");
  EXPECT_EQ(search.find("READ").front(), "files_readFile");
  EXPECT_EQ(search.find("issue").size(), 2U);
  EXPECT_EQ(search.find("list issues").front(), "issues_list");
  EXPECT_EQ(search.find("title").front(), "issues_create");
  EXPECT_EQ(search.find("number").front(), "maths_sum");
  EXPECT_TRUE(search.find("weather").empty());
  EXPECT_TRUE(search.find("").empty());
}

TEST(ToolSearch, OfAsGoodOnesTheFirstComesFirst) {
  ToolSearch search;
  for (const char* const name : {"b_one", "a_one", "c_one"}) search.add(name, described("same"));
  EXPECT_EQ(search.find("one"), (std::vector<std::string>{"b_one", "a_one", "c_one"}));
}

TEST(ToolSearch, WordsBeyondTheLimitDoNotCount) {
  ToolSearch search;
  search.add("last", described("x"));
  std::string query;
  for (size_t i = 0; i < ToolSearch::kMaxQuery - 1; ++i) query += "w" + std::to_string(i) + "q ";
  EXPECT_EQ(search.find(query + "last").size(), 1U);
  EXPECT_TRUE(search.find(query + "more last").empty());
}

TEST(ToolSearch, ItsOwnToolsAreTools) {
  for (const std::string_view text : {find_tool_text(), call_tool_text()}) {
    EXPECT_EQ(rpc::member_or_empty(rpc::member_or_empty(text, "inputSchema"), "type"),
              R"("object")");
  }
}

}  // namespace
}  // namespace stdgate::servers
