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
  // Another text of the same tool is kept beside the first text.
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

namespace {

constexpr const char* kWrite =
    R"({"name":"write_file", "inputSchema":{"type":"object","properties":{"path":{"type":"string"},)"
    R"("mode":{"type":"string"}, "Mode":{}},"required":["path", "mode"]},"x":[1, 2]})";

TEST(ToolLook, NamesHaveAtMost64CharactersThatInterfacesTake) {
  EXPECT_EQ(shown_tool_name("files_", "read-file"), "files_read-file");
  EXPECT_EQ(shown_tool_name("", std::string(64, 'a')), std::string(64, 'a'));
  const std::string cut = shown_tool_name("", std::string(65, 'a'));
  EXPECT_EQ(cut.size(), 64U);
  EXPECT_EQ(cut.substr(0, 55), std::string(55, 'a'));
  EXPECT_EQ(cut, shown_tool_name("", std::string(65, 'a')));
  EXPECT_NE(cut, shown_tool_name("", std::string(66, 'a')));
  const std::string other = shown_tool_name("f_", "a.b/c");
  EXPECT_EQ(other.substr(0, 8), "f_a_b_c_");
  EXPECT_NE(other, shown_tool_name("f_", "a/b/c"));
  EXPECT_FALSE(shown_tool_name("", "").empty());
}

TEST(ToolLook, NothingIsTouchedButNameDescriptionAndFixedArguments) {
  config::MemberToolsConfig tools;
  EXPECT_EQ(tool_as_shown(R"({ "a" : 1.50, "name":"w", "b":"\u00e9"})", "f_w", "w", tools),
            R"({ "a" : 1.50, "name":"f_w", "b":"\u00e9"})");
  tools.describe["w"] = "Writes \"it\".";
  EXPECT_EQ(tool_as_shown(R"({"name":"w","description":"old","b":1})", "w", "w", tools),
            R"({"name":"w","description":"Writes \"it\".","b":1})");
  EXPECT_EQ(tool_as_shown(R"({"name":"w"})", "w", "w", tools),
            R"({"description":"Writes \"it\".","name":"w"})");
  tools.fix["write"] = {{"mode", "\"create\""}};
  EXPECT_EQ(tool_as_shown(kWrite, "f_write", "write", tools),
            R"({"name":"f_write", "inputSchema":{"type":"object","properties":{"path":)"
            R"({"type":"string"},"Mode":{}},"required":["path"]},"x":[1, 2]})");
  EXPECT_EQ(prompt_as_shown(R"({"title":"T","name":"p"})", "f_p"), R"({"title":"T","name":"f_p"})");
}

TEST(ToolLook, FixedArgumentsAreNotTheClientsToChoose) {
  config::MemberToolsConfig tools;
  tools.fix["write"] = {{"mode", "\"create\""}};
  tools.defaults["write"] = {{"limit", "20"}};
  const auto filled = [&tools](const char* arguments) {
    return arguments_for_member(arguments, "write", tools);
  };
  EXPECT_EQ(filled(""), R"({"limit":20,"mode":"create"})");
  EXPECT_EQ(filled(R"({"path":"/a"})"), R"({"path":"/a","limit":20,"mode":"create"})");
  EXPECT_EQ(filled(R"({"limit":5,"mode":"append"})"), R"({"limit":5,"mode":"create"})");
  EXPECT_EQ(filled(R"({"m\u006fde":"append","MODE":1,"path":2,"Mode":3})"),
            R"({"path":2,"limit":20,"mode":"create"})");
  EXPECT_TRUE(has_arguments_for("write", tools));
  EXPECT_FALSE(has_arguments_for("read", tools));
  EXPECT_EQ(missing_argument(kWrite, "write", tools), "limit");
}

TEST(ToolLook, AToolWithoutASchemaIsNone) {
  EXPECT_TRUE(check_tool(kWrite));
  EXPECT_TRUE(check_tool(R"({"name":"a","inputSchema":{"type":"object"}})"));
  for (const char* const tool :
       {R"({"name":"a"})", R"({"name":"a","inputSchema":null})", R"({"name":"a","inputSchema":{}})",
        R"({"name":"a","inputSchema":{"type":"string"}})",
        R"({"name":"a","inputSchema":{"type":"object","properties":[]}})",
        R"({"name":"a","inputSchema":{"type":"object","properties":{"b":"string"}}})",
        R"({"name":"a","inputSchema":{"type":"object","required":true}})",
        R"({"name":"a","inputSchema":{"type":"object","required":[1]}})"}) {
    EXPECT_FALSE(check_tool(tool)) << tool;
  }
}

}  // namespace

}  // namespace stdgate::servers
