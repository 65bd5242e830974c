// OpenRPC documents (1.x): what they say about methods, why documents are refused, and the part
// that a client may see.
#include "gateway/schema/openrpc_document.h"

#include <gmock/gmock.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gateway/schema/canonical_json.h"
#include "gateway/schema/openrpc_cut.h"

namespace stdgate {
namespace {

using schema::Fit;
using schema::OpenRpcDocument;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string document_of(const std::string& methods, const std::string& more = "") {
  return R"({"openrpc":"1.3.2","info":{"title":"t","version":"1"},"methods":[)" + methods + "]" +
         more + "}";
}

std::string param(const std::string& name, const std::string& schema, bool is_required = false) {
  return R"({"name":")" + name + R"(","schema":)" + schema +
         (is_required ? R"(,"required":true})" : "}");
}

std::string method(const std::string& params, const std::string& more = "") {
  return R"({"name":"m","params":[)" + params + "]" + more + "}";
}

OpenRpcDocument read(const std::string& text) {
  auto document = OpenRpcDocument::read(text);
  if (!document) {
    ADD_FAILURE() << text << document.error().front().place << document.error().front().expected;
    return *OpenRpcDocument::read(document_of(""));
  }
  return *std::move(document);
}

// The faults, such as "/methods/0/name: string, not number".
std::vector<std::string> faults_of(const std::string& text) {
  std::vector<std::string> faults;
  const auto document = OpenRpcDocument::read(text);
  if (document) return faults;
  for (const auto& [place, expected] : document.error()) faults.push_back(place + ": " + expected);
  return faults;
}

std::string misfit_of(const OpenRpcDocument& document, const std::string& params) {
  schema::SchemaCheck check;
  if (check.check(document.compiled(), document.find("m")->params, params) == Fit::fits) return "";
  return check.misfits().front().place + ": " + check.misfits().front().expected;
}

TEST(OpenRpcDocument, ParamsFitByNameAndByPosition) {
  const std::string two =
      param("a", R"({"type":"integer"})", true) + "," + param("b", R"({"type":"string"})");
  const auto with = [&](const std::string& structure) {
    return read(document_of(method(two, R"(,"paramStructure":")" + structure + '"')));
  };
  const OpenRpcDocument either = with("either");
  const OpenRpcDocument by_name = with("by-name");
  const OpenRpcDocument by_position = with("by-position");
  const std::tuple<std::string, bool, bool, bool> cases[] = {
      {R"({"a":1})", true, true, false},
      {R"({"a":1,"b":"x"})", true, true, false},
      {R"({"b":"x","a":1})", true, true, false},
      {R"({"a":"1"})", false, false, false},
      {R"({"a":1,"c":1})", false, false, false},
      {R"({"a":1,"":1})", false, false, false},
      {R"({"a\u0000":1})", false, false, false},
      {R"({"\u0061":1})", true, true, false},
      {"{}", false, false, false},
      {"[1]", true, false, true},
      {R"([1,"x"])", true, false, true},
      {R"([1,2])", false, false, false},
      {R"([1,"x",3])", false, false, false},
      {R"(["x",1])", false, false, false},
      {"[]", false, false, false},
      {"1", false, false, false},
      {"null", false, false, false},
  };
  for (const auto& [params, fits_either, fits_name, fits_position] : cases) {
    EXPECT_EQ(misfit_of(either, params).empty(), fits_either) << params;
    EXPECT_EQ(misfit_of(by_name, params).empty(), fits_name) << params;
    EXPECT_EQ(misfit_of(by_position, params).empty(), fits_position) << params;
  }
  EXPECT_EQ(either.find("n"), nullptr);
  EXPECT_TRUE(by_position.find("m")->is_by_position);
}

TEST(OpenRpcDocument, MisfitsHaveTheirPlace) {
  const OpenRpcDocument document = read(document_of(method(
      param("a", R"({"type":"object","properties":{"b":{"maximum":9007199254740993}}})", true))));
  EXPECT_EQ(misfit_of(document, R"({"a":{"b":9007199254740993}})"), "");
  EXPECT_EQ(misfit_of(document, R"({"a":{"b":9007199254740994}})"),
            "/a/b: at most 9007199254740993");
  EXPECT_EQ(misfit_of(document, R"([{"b":9007199254740994}])"), "/0/b: at most 9007199254740993");
  EXPECT_EQ(misfit_of(document, "[]"), ": at least 1 elements");
}

TEST(OpenRpcDocument, ReferencesLeadWithinTheDocument) {
  const OpenRpcDocument document = read(document_of(
      R"({"name":"m","params":[{"$ref":"#/components/contentDescriptors/A"},
          {"name":"tree","schema":{"$ref":"#/components/schemas/Tree"}}],
          "result":{"$ref":"#/components/contentDescriptors/A"}},
         {"name":"slash","params":[{"$ref":"#/components/contentDescriptors/A~1b"}]})",
      R"(,"components":{"contentDescriptors":{
          "A":{"name":"a","required":true,"schema":{"type":"integer"}},
          "A/b":{"name":"a","schema":{"$ref":"#/components/contentDescriptors/A/schema"}}},
         "schemas":{"Tree":{"type":"array","items":{"$ref":"#/components/schemas/Tree"}}}})"));
  EXPECT_EQ(misfit_of(document, R"([1,[[],[[[]]]]])"), "");
  EXPECT_EQ(misfit_of(document, R"([1,[[],[[[5]]]]])"), "/1/1/0/0/0: array, not number");
  EXPECT_NE(document.find("m")->result, schema::kNoNode);
  EXPECT_EQ(document.find("slash")->result, schema::kNoNode);
}

TEST(OpenRpcDocument, FaultsAreToldAllAtOnceWithTheirPlaces) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ": valid JSON"},
      {"{", ": valid JSON"},
      {"[]", ": object, not array"},
      {R"({"openrpc":"1.3.2","info":{"title":"t","title":"u"}})",
       "/info/title: once, and is there twice"},
      {R"({"openrpc":"2.0.0","info":{"title":"t","version":"1"},"methods":[]})", "/openrpc: "},
      {R"({"openrpc":"1.3.2","info":{"title":"t"},"methods":[]})", "/info: a member \"version\""},
      {document_of("", R"(,"metods":[])"), ": no member \"metods\""},
      {document_of(R"({"name":5,"params":[]})"), "/methods/0/name: string, not number"},
      {document_of(R"({"params":[]})"), "/methods/0: a member \"name\""},
      {document_of(method("") + "," + method("")),
       "/methods/1: another name than \"m\", which is taken"},
      {document_of(method(param("a", "{}") + "," + param("a", "{}"))),
       "/methods/0/params/1: another name than \"a\", which is taken"},
      {document_of(method(param("a", "{}") + "," + param("b", "{}", true))),
       "/methods/0/params/1: required params in front of the others"},
      {document_of(method(R"({"$ref":"#/components/nowhere"})")),
       "/methods/0/params/0: a reference to a place in this document"},
      {document_of(method(R"({"$ref":"http://elsewhere/"})")),
       "/methods/0/params/0: a reference to a place in this document"},
      {document_of(R"({"$ref":"#/methods/0"})"),
       "/methods/0: a reference to a place in this document"},
      {document_of(R"({"$ref":"#/info"})"), "/methods/0: a method, with name and params"},
      {document_of(method("", R"(,"paramStructure":"any")")), "/methods/0/paramStructure: "},
  };
  for (const auto& [text, fault] : cases) {
    const auto faults = faults_of(text);
    ASSERT_THAT(faults, SizeIs(testing::Ge(1U))) << text;
    EXPECT_THAT(faults.front(), testing::StartsWith(fault)) << text;
  }
  EXPECT_THAT(faults_of(document_of(R"({"name":5,"params":[]},{"name":"m"})")), SizeIs(2));
}

TEST(OpenRpcDocument, Bounds) {
  std::string methods;
  for (size_t i = 0; i < OpenRpcDocument::kMaxMethods; ++i) {
    methods += R"({"name":"m)" + std::to_string(i) + R"(","params":[]},)";
  }
  methods.pop_back();
  EXPECT_EQ(read(document_of(methods)).methods(), OpenRpcDocument::kMaxMethods);
  EXPECT_THAT(faults_of(document_of(methods + "," + method(""))),
              ElementsAre("/methods: at most 5000 methods"));

  std::string params;
  for (size_t i = 0; i < OpenRpcDocument::kMaxParams; ++i) {
    params += param("p" + std::to_string(i), "true") + ",";
  }
  params.pop_back();
  EXPECT_THAT(faults_of(document_of(method(params))), IsEmpty());
  EXPECT_THAT(faults_of(document_of(method(params + "," + param("q", "true")))),
              ElementsAre("/methods/0/params: at most 500 params"));

  std::string text = document_of("");
  text.append(OpenRpcDocument::kMaxText - text.size(), ' ');
  EXPECT_THAT(faults_of(text), IsEmpty());
  EXPECT_THAT(faults_of(text + " "), ElementsAre(": at most 4194304 bytes"));
}

TEST(OpenRpcDocument, ASchemaThatCannotBeCompiledChecksNothingAndLeavesTheOthers) {
  const OpenRpcDocument document = read(document_of(
      method(param("a", R"x({"pattern":"(?=a)"})x") + "," + param("b", R"({"$ref":"http://x/"})") +
             "," +
             param("c", R"({"allOf":[{"type":"integer"},{"$ref":"#/components/schemas/Loop"}]})") +
             "," + param("d", R"({"type":"integer"})")),
      R"(,"components":{"schemas":{"Loop":{"$ref":"#/components/schemas/Loop"}}})"));
  ASSERT_THAT(document.unchecked(), SizeIs(3));
  EXPECT_EQ(document.unchecked().front().place, "/methods/0/params/0/schema");
  EXPECT_EQ(misfit_of(document, R"([1,2,"x",3])"), "");
  EXPECT_EQ(misfit_of(document, R"([1,2,"x","y"])"), "/3: integer, not string");
}

TEST(OpenRpcDocument, TheCodeForParamsThatDoNotFitIsTheDeclaredOne) {
  const std::pair<std::string, int> cases[] = {
      {"", 0},
      {R"(,"errors":[{"code":-32000,"message":"Other"}])", 0},
      {R"(,"errors":[{"code":-32001,"message":"Invalid params"}])", -32001},
      {R"(,"errors":[{"code":-32001,"message":"Bad"}])", 0},
      {R"(,"errors":[{"code":4,"message":"Invalid params"}])", 4},
      {R"(,"errors":[{"code":4e99,"message":"Invalid params"}])", 0},
      {R"(,"errors":[{"code":99999999999,"message":"Invalid params"}])", 0},
      {R"(,"errors":[{"$ref":"#/components/errors/E"}])", -32001},
  };
  for (const auto& [errors, code] : cases) {
    const OpenRpcDocument document = read(document_of(
        method("", errors),
        R"(,"components":{"errors":{"E":{"code":-32001,"message":"Invalid params"}}})"));
    EXPECT_EQ(document.find("m")->refusal.value_or(0), code) << errors;
  }
}

TEST(OpenRpcDocument, TheTextIsOneLineWithTheSameValues) {
  const std::string text =
      "{\n \"openrpc\" : \"1.3.2\",\r\n\t\"info\":{\"title\":\"a b\\n \\\"c\","
      "\"version\":\"1\"},\n\"methods\": [ ]\n}\n";
  EXPECT_EQ(read(text).text(),
            R"({"openrpc":"1.3.2","info":{"title":"a b\n \"c","version":"1"},"methods":[]})");
}

// --- The part for a client ------------------------------------------------------------------

std::string cut(const std::string& text, const std::string& kept) {
  const auto keeps = [&](std::string_view name) { return kept.find(name) != std::string::npos; };
  return schema::cut_openrpc(text, keeps).value_or("nothing");
}

TEST(OpenRpcCut, HasNoMethodThatIsNotKeptAndNoComponentThatOnlyThoseNeed) {
  const std::string text = document_of(
      R"({"name":"a","params":[{"$ref":"#/components/contentDescriptors/P"}]},{"name":"b",)"
      R"("params":[{"name":"x","schema":{"$ref":"#/components/schemas/Secret"}}]},)"
      R"({"$ref":"#/components/methods/c"})",
      R"(,"components":{"contentDescriptors":{"P":{"name":"p","schema":{"$ref":)"
      R"("#/components/schemas/Shared"}},"Q":{"name":"q","schema":{}}},)"
      R"("schemas":{"Secret":{},"Shared":{"items":{"$ref":"#/components/schemas/Deep/x"}},)"
      R"("Deep":{"x":{}}},"methods":{"c":{"name":"\u0063","params":[]}}})");
  const std::string head = R"({"openrpc":"1.3.2","info":{"title":"t","version":"1"},"methods":[)";
  EXPECT_EQ(cut(text, "a"),
            head + R"({"name":"a","params":[{"$ref":"#/components/contentDescriptors/P"}]}],)"
                   R"("components":{"contentDescriptors":{"P":{"name":"p","schema":{"$ref":)"
                   R"("#/components/schemas/Shared"}}},"schemas":{"Shared":{"items":{"$ref":)"
                   R"("#/components/schemas/Deep/x"}},"Deep":{"x":{}}},"methods":{}}})");
  EXPECT_EQ(cut(text, "c"),
            head + R"({"$ref":"#/components/methods/c"}],"components":{"contentDescriptors":{},)"
                   R"("schemas":{},"methods":{"c":{"name":"\u0063","params":[]}}}})");
  EXPECT_EQ(cut(text, ""), head + R"(],"components":{"contentDescriptors":{},"schemas":{},)"
                                  R"("methods":{}}})");
}

TEST(OpenRpcCut, OfAnythingElseIsNothing) {
  for (const char* text : {"5", "null", "[]", "{}", R"({"methods":{}})", R"({"methods":null})"}) {
    EXPECT_EQ(cut(text, "a"), "nothing") << text;
  }
  EXPECT_EQ(cut(R"({"methods":[5,{},{"name":5},{"name":""},{"name":"a"}]})", "a"),
            R"({"methods":[{"name":"a"}]})");
}

}  // namespace
}  // namespace stdgate
