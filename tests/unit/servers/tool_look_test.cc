#include <gtest/gtest.h>

#include "gateway/servers/tool_search.h"

namespace stdgate::servers {
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
