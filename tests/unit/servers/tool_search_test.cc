#include "gateway/servers/tool_search.h"

#include <gtest/gtest.h>

#include "gateway/rpc/json_reader.h"

namespace stdgate::servers {
namespace {

std::string described(const std::string& description, const std::string& argument = "x") {
  return R"({"description":")" + description +
         R"(","inputSchema":{"type":"object","properties":{")" + argument + "\":{}}}}";
}

std::vector<std::string> found(const ToolSearch& search, std::string_view query) {
  std::vector<std::string> names;
  for (const ToolSearch::Tool* const tool : search.find(query)) names.push_back(tool->name);
  return names;
}

TEST(ToolSearch, FindsByNameDescriptionAndArguments) {
  ToolSearch search;
  search.add("files_readFile", described("Gives the text of a file", "path"));
  search.add("issues_create", described("Makes a new issue in a repository", "title"));
  search.add("issues_list", described("All issues of a repository"));
  search.add("maths_sum", described("Adds two numbers"));
  EXPECT_EQ(found(search, "read a file").front(), "files_readFile");
  EXPECT_EQ(found(search, "READ").front(), "files_readFile");
  EXPECT_EQ(found(search, "issue").size(), 2U);
  EXPECT_EQ(found(search, "list issues").front(), "issues_list");
  EXPECT_EQ(found(search, "title").front(), "issues_create");
  EXPECT_EQ(found(search, "number").front(), "maths_sum");
  EXPECT_TRUE(found(search, "weather").empty());
  EXPECT_TRUE(found(search, "").empty());
}

TEST(ToolSearch, OfAsGoodOnesTheFirstComesFirst) {
  ToolSearch search;
  for (const char* const name : {"b_one", "a_one", "c_one"}) search.add(name, described("same"));
  EXPECT_EQ(found(search, "one"), (std::vector<std::string>{"b_one", "a_one", "c_one"}));
}

TEST(ToolSearch, WordsBeyondTheLimitDoNotCount) {
  ToolSearch search;
  search.add("last", described("x"));
  std::string query;
  for (size_t i = 0; i < ToolSearch::kMaxQuery - 1; ++i) query += "w" + std::to_string(i) + "q ";
  EXPECT_EQ(found(search, query + "last").size(), 1U);
  EXPECT_TRUE(found(search, query + "more last").empty());
}

TEST(ToolSearch, TextBeyondTheLimitDoesNotCount) {
  ToolSearch search;
  const std::string name = "long";
  const std::string rest(ToolSearch::kMaxText - name.size() - 4, '-');
  search.add(name, described(rest + "some", "last"));
  EXPECT_EQ(found(search, "some").size(), 1U);
  EXPECT_TRUE(found(search, "last").empty());
  const size_t bytes = search.bytes();
  search.add("longer", described(rest + "some" + std::string(ToolSearch::kMaxText, 'x'), "last"));
  EXPECT_LT(search.bytes() - bytes, ToolSearch::kMaxText);
  EXPECT_TRUE(found(search, "last").empty());
}

TEST(ToolSearch, AListIsReadOnce) {
  const auto list_of = [](const std::string& description) {
    ElementList list;
    config::MemberConfig member;
    std::vector<Finding> findings;
    list.add_page(ListKind::tools,
                  R"({"tools":[{"name":"t","description":")" + description +
                      R"(","inputSchema":{"type":"object"}}]})",
                  member, findings);
    return list;
  };
  ToolSearch search;
  const ElementList first = list_of("old");
  const std::vector<const ElementList*> lists = {&first, &first};
  search.cover(lists);
  const size_t bytes = search.bytes();
  search.cover(lists);
  EXPECT_EQ(search.bytes(), bytes);
  // Another text of the same tool stands beside it.
  const ElementList second = list_of("new");
  search.cover(std::vector<const ElementList*>{&second});
  EXPECT_EQ(found(search, "old"), std::vector<std::string>{"t"});
  ASSERT_EQ(found(search, "new"), std::vector<std::string>{"t"});
  EXPECT_EQ(search.find("new").front()->version, ToolSearch::version_of(second.all()[0].text));
}

TEST(ToolSearch, ItsOwnToolsAreTools) {
  for (const std::string_view text : {find_tool_text(), call_tool_text()}) {
    EXPECT_EQ(rpc::member_or_empty(rpc::member_or_empty(text, "inputSchema"), "type"),
              R"("object")");
  }
}

}  // namespace
}  // namespace stdgate::servers
