#include "gateway/servers/element_list.h"

#include <gtest/gtest.h>

namespace stdgate::servers {
namespace {

constexpr const char* kSchema = R"("inputSchema":{"type":"object"})";

std::string tool(const std::string& name) { return R"({"name":")" + name + "\"," + kSchema + "}"; }
std::string tools(const std::string& elements) { return R"({"tools":[)" + elements + "]}"; }

config::MemberConfig member() {
  config::MemberConfig config;
  config.backend = "files";
  config.prefix = "f_";
  return config;
}

std::vector<std::string> shown(const ElementList& list) {
  std::vector<std::string> names;
  for (const Element& element : list.all()) names.push_back(element.shown);
  return names;
}

TEST(ElementList, ShowsWhatIsIncludedUnderItsName) {
  config::MemberConfig config = member();
  config.tools.include = {"read_*", "write"};
  config.tools.exclude = {"*_all"};
  config.tools.rename["read_text"] = "read";
  ElementList list;
  std::vector<Finding> findings;
  list.add_page(
      ListKind::tools,
      tools(tool("read_text") + "," + tool("read_all") + "," + tool("move") + "," + tool("write")),
      config, findings);
  EXPECT_EQ(shown(list), (std::vector<std::string>{"f_read", "f_write"}));
  EXPECT_TRUE(findings.empty());
  ASSERT_NE(list.find("f_read"), nullptr);
  EXPECT_EQ(list.find("f_read")->own, "read_text");
  EXPECT_EQ(list.find("f_read_text"), nullptr);
  EXPECT_EQ(list.find("read_text"), nullptr);
}

TEST(ElementList, LeavesOutWhatNoClientCouldTake) {
  ElementList list;
  std::vector<Finding> findings;
  list.add_page(ListKind::tools,
                tools(R"({"name":"bad","inputSchema":{"type":"array"}},{"title":"none"},)"
                      R"({"name":"a","name":"b","inputSchema":{"type":"object"}},)" +
                      tool("good") + "," + tool("good")),
                member(), findings);
  EXPECT_EQ(shown(list), std::vector<std::string>{"f_good"});
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_EQ(findings[0].element, "bad");
  EXPECT_NE(findings[3].what.find("f_good is shown already"), std::string::npos);
}

TEST(ElementList, SaysWhatIsShortenedAndWhichArgumentIsNone) {
  config::MemberConfig config = member();
  config.tools.fix["a"] = {{"mode", "1"}};
  ElementList list;
  std::vector<Finding> findings;
  list.add_page(ListKind::tools, tools(tool(std::string(70, 'x')) + "," + tool("a")), config,
                findings);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_NE(findings[0].what.find("is shown as f_xxx"), std::string::npos);
  EXPECT_NE(findings[1].what.find("no argument 'mode'"), std::string::npos);
}

TEST(ElementList, EndsAtItsLimit) {
  std::string many;
  for (size_t i = 0; i <= ElementList::kMaxElements; ++i) {
    many.append(i == 0 ? "" : ",").append(R"({"uri":"a:)" + std::to_string(i) + R"("})");
  }
  ElementList list;
  std::vector<Finding> findings;
  list.add_page(ListKind::resources, R"({"resources":[)" + many + "]}", member(), findings);
  EXPECT_EQ(list.all().size(), ElementList::kMaxElements);
  ASSERT_EQ(findings.size(), 1U);
}

TEST(ElementList, KnowsUrisOfInterfacesAndWhetherItHasChanged) {
  ElementList list;
  std::vector<Finding> findings;
  list.add_page(ListKind::tools,
                tools(R"({"name":"a","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":)"
                      R"("ui://a/1"}}})"),
                member(), findings);
  EXPECT_TRUE(list.names_uri("ui://a/1"));
  EXPECT_FALSE(list.names_uri("ui://a/2"));
  EXPECT_NE(list.all()[0].text.find(R"("resourceUri":"ui://a/1")"), std::string::npos);
  ElementList same;
  same.add_page(ListKind::tools, tools(tool("a")), member(), findings);
  ElementList other;
  other.add_page(ListKind::tools, tools(tool("b")), member(), findings);
  EXPECT_NE(same.digest(), other.digest());
}

}  // namespace
}  // namespace stdgate::servers
