// Texts that are complete at once: messages of clients and children, and searches in them. The size
// is in bytes or in members.
#include <array>
#include <memory>
#include <string>

#include "gateway/base/encodings.h"
#include "gateway/call/splice.h"
#include "gateway/mcp/cache_filter.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/mcp/param_headers.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_check.h"
#include "metrics/logs/redaction.h"
#include "tests/cost/cost_case.h"

namespace stdgate::test {

namespace {

constexpr rpc::EnvelopeLimits kWide{.batch = SIZE_MAX, .id = SIZE_MAX, .method = SIZE_MAX};

std::string message(std::string_view params) {
  return R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + std::string(params) + "}";
}

// An object with this many members: {"k100000":1,"k100001":1,…}
std::string object_of(size_t members) {
  return "{" +
         repeated(members,
                  [](size_t i) { return (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1"; }) +
         "}";
}

std::string array_of(size_t elements, std::string_view element) {
  return "[" +
         repeated(elements,
                  [element](size_t i) { return (i == 0 ? "" : ",") + std::string(element); }) +
         "]";
}

template <class Text>
CostCase parse(const std::string& name, size_t size, bool is_good, Text&& text_of) {
  return {"envelope/" + name, size, [is_good, text_of](size_t n) -> Step {
            return [is_good, text = std::string(text_of(n))]() mutable {
              rpc::EnvelopeParser parser(kWide);
              must(parser.parse(text).has_value() == is_good, "parse");
            };
          }};
}

// Counts `read(text)`. The text outlives the step.
template <class Text, class Read>
CostCase reading(const std::string& name, size_t size, Text&& text_of, Read&& read) {
  return {name, size, [text_of, read](size_t n) -> Step {
            return [read, text = std::string(text_of(n))]() mutable { read(text); };
          }};
}

std::vector<CostCase> envelope_costs() {
  std::vector<CostCase> costs;
  costs.push_back(parse("members", 250, true, [](size_t n) {
    return R"({"jsonrpc":"2.0","id":1,"method":"m",)" + object_of(n).substr(1);
  }));
  costs.push_back(parse("members like those of the envelope", 250, true, [](size_t n) {
    return "{" + repeated(n, [](size_t) { return R"("ID":1,"\u0069d":1,)"; }) + R"("id":1})";
  }));
  costs.push_back(parse("batch", 300, true, [](size_t n) { return array_of(n, "1"); }));
  costs.push_back(parse("batch of requests", 50, true,
                        [](size_t n) { return array_of(n, message(R"({"a":[{"b":null}]})")); }));
  costs.push_back(parse("nested as deep as may be", 20, true, [](size_t n) {
    const std::string one = std::string(120, '[') + std::string(120, ']');
    return message(array_of(n, one));
  }));
  costs.push_back(
      parse("nested too deeply", 2000, false, [](size_t n) { return std::string(n, '['); }));
  costs.push_back(parse("escapes", 1000, true, [](size_t n) {
    return message("[\"" + repeated(n, [](size_t) { return "\\u00e9\\n"; }) + "\"]");
  }));
  costs.push_back(
      parse("short strings", 1000, true, [](size_t n) { return message(array_of(n, "\"\"")); }));
  costs.push_back(parse("space", 2000, true, [](size_t n) {
    return message(repeated(n, [](size_t) { return "\r\n"; }) + "[]");
  }));
  costs.push_back(parse("not UTF-8", 4000, false,
                        [](size_t n) { return message("[\"" + std::string(n, 'x') + "\xff\"]"); }));
  costs.push_back(parse("a string without an end", 4000, false, [](size_t n) {
    return message("[\"" + std::string(n, 'x')).substr(0, n);
  }));
  costs.push_back(parse("a long number", 2000, true,
                        [](size_t n) { return message("[" + std::string(n, '1') + "]"); }));
  return costs;
}

// A filter that keeps every second element.
struct EverySecond final : rpc::ElementFilter {
  bool keeps(std::string_view element) override {
    keep(rpc::find_clear_member(element, "name"));
    return ++asked % 2 == 0;
  }
  size_t asked = 0;
};

std::vector<CostCase> member_costs() {
  std::vector<CostCase> costs;
  costs.push_back(reading("json_member/one of many", 1000, &object_of, [](std::string& text) {
    must(!rpc::find_member(text, "none"), "find_member");
  }));
  costs.push_back(reading("json_member/some of many", 500, &object_of, [](std::string& text) {
    keep(rpc::find_members(text, std::array<std::string_view, 3>{"a", "b", "c"}));
  }));
  costs.push_back(reading(
      "json_member/keys alike", 200,
      [](size_t n) {
        return "{" + repeated(n, [](size_t) { return "\"\\u006eame2\":{},"; }) + "\"n\":1}";
      },
      [](std::string& text) { must(!rpc::find_clear_member(text, "name"), "find_clear_member"); }));
  costs.push_back(reading(
      "json_cut/every second element", 100,
      [](size_t n) { return R"({"tools":)" + array_of(n, R"({"name":"a","b":[]})") + "}"; },
      [](std::string& text) {
        EverySecond filter;
        std::string out;
        must(rpc::cut_elements(text, "tools", filter, {}, out), "cut_elements");
      }));
  costs.push_back(reading(
      "json_string/escapes", 400,
      [](size_t n) { return repeated(n, [](size_t) { return "\\u0041\\ud83d\\ude00"; }); },
      [](std::string& text) {
        std::string scratch;
        keep(rpc::decode_string(text, scratch));
        must(!rpc::json_string_equals(text, scratch + "x"), "json_string_equals");
      }));
  costs.push_back(reading(
      "json_string/bytes that are escaped", 400,
      [](size_t n) { return repeated(n, [](size_t) { return "\n\xff\xe2\x80\xae"; }); },
      [](std::string& text) {
        std::string out;
        rpc::append_json_string(out, text);
        keep(out);
      }));
  return costs;
}

// A message that is longer than limits.message.
std::vector<CostCase> skipped_costs() {
  const auto skip = [](std::string& text, size_t piece) {
    rpc::SkippedMessage skipped;
    for (size_t at = 0; at < text.size(); at += piece) skipped.feed(text.substr(at, piece));
    must(skipped.id().empty(), "a skipped message has several ids");
  };
  const auto ids = [](size_t n) {
    return "{" + repeated(n, [](size_t i) { return "\"id\":" + std::to_string(i) + ","; }) +
           "\"a\":1}";
  };
  return {
      reading("skipped/ids", 500, ids, [skip](std::string& text) { skip(text, SIZE_MAX / 2); }),
      reading("skipped/ids, byte by byte", 150, ids, [skip](std::string& text) { skip(text, 1); }),
      reading(
          "skipped/a long key, byte by byte", 2000,
          [](size_t n) { return "{\"" + std::string(n, 'k') + "\":1,\"id\":1,\"id\":2}"; },
          [skip](std::string& text) { skip(text, 1); })};
}

// --- MCP -----------------------------------------------------------------------------------------

std::string tools(size_t count, std::string_view schema) {
  return R"({"jsonrpc":"2.0","id":1,"result":{"tools":)" +
         array_of(count, R"({"name":"t","inputSchema":)" + std::string(schema) + "}") + "}}";
}

// A tool with this many arguments that are marked to be repeated.
std::string marked_tool(size_t arguments) {
  const std::string properties = repeated(arguments, [](size_t i) {
    return (i == 0 ? "\"a" : ",\"a") + std::to_string(i) +
           R"(":{"type":"string","x-mcp-header":"h)" + std::to_string(i) + "\"}";
  });
  return tools(1, R"({"properties":{)" + properties + "}}");
}

// A schema as deep as the gateway follows paths, and much wider.
std::string nested_tool(size_t width) {
  std::string schema = R"({"type":"string"})";
  for (size_t depth = 0; depth < 40; ++depth) {
    schema =
        R"({"properties":{"a":)" + schema + R"(,"x-mcp-header":)" + array_of(width, "1") + "}}";
  }
  return tools(1, schema);
}

std::vector<CostCase> mcp_costs() {
  std::vector<CostCase> costs;
  const auto read_page = [](std::string& text) {
    const rpc::KnownMessage answer(text);
    keep(mcp::read_tool_page(answer.envelope()));
  };
  costs.push_back(reading(
      "mcp/tools", 60, [](size_t n) { return tools(n, R"({"properties":{"a":{}}})"); }, read_page));
  costs.push_back(reading("mcp/marked arguments", 40, &marked_tool, read_page));
  costs.push_back(reading("mcp/a deep schema", 20, &nested_tool, read_page));
  costs.push_back(reading("mcp/modern params", 500, &object_of, [](std::string& text) {
    mcp::MetaMemory memory;
    keep(mcp::read_params(text, memory));
  }));
  costs.push_back(reading(
      "mcp/_meta", 200, [](size_t n) { return message(R"({"_meta":)" + object_of(n) + "}"); },
      [](std::string& text) {
        const rpc::KnownMessage request(text);
        mcp::MetaMemory memory;
        keep(mcp::modern_members(request.envelope(), memory));
      }));
  costs.push_back(reading(
      "mcp/key of the cache", 500, [](size_t n) { return message(object_of(n)); },
      [](std::string& text) {
        const rpc::KnownMessage request(text);
        must(!mcp::cache_key(request.envelope(), "tools/list").empty(), "key");
      }));
  costs.push_back(reading(
      // The members are sorted, so the cost may grow slightly faster.
      "mcp/essence of a request", 1000, [](size_t n) { return message(object_of(n)); },
      [](std::string& text) {
        const rpc::KnownMessage request(text);
        keep(mcp::McpInput().essence(request.envelope()));
      }));
  costs.push_back(reading(
      "mcp/questions", 80,
      [](size_t n) {
        return R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required",)"
               R"("requestState":"s","inputRequests":{)" +
               repeated(n,
                        [](size_t i) {
                          return (i == 0 ? "\"q" : ",\"q") + std::to_string(i) +
                                 R"(":{"method":"roots/list"})";
                        }) +
               "}}}";
      },
      [](std::string& text) {
        const rpc::KnownMessage answer(text);
        must(mcp::McpInput().demands(answer.envelope()).has_value(), "demands");
      }));
  costs.push_back(reading(
      "mcp/a request with a token", 500,
      [](size_t n) {
        return message(R"({"name":"t","_meta":{"progressToken":1},"arguments":)" + object_of(n) +
                       "}");
      },
      [](std::string& text) {
        const rpc::KnownMessage request(text);
        const mcp::McpDialect dialect("1");
        keep(dialect.read_client(request.envelope(), "tools/call", {config::Isolation::shared}));
        keep(mcp::modern_version(request.envelope()));
      }));
  return costs;
}

// --- Other texts
// --------------------------------------------------------------------------------------

std::vector<CostCase> other_costs() {
  std::vector<CostCase> costs;
  costs.push_back(reading(
      "base64", 4000, [](size_t n) { return std::string(n / 4 * 4, 'A'); },
      [](std::string& text) {
        must(decode_base64(text, Base64Alphabet::standard).has_value(), "decode_base64");
        keep(encode_base64url(text));
      }));
  costs.push_back(reading(
      "visible_text", 2000,
      [](size_t n) { return repeated(n, [](size_t) { return "a\x1b\xc2\x9b"; }); },
      [](std::string& text) { keep(visible(text, VisibleText::quoted)); }));
  costs.push_back(reading(
      "name_pattern", 1000, [](size_t n) { return repeated(n, [](size_t) { return "a/"; }); },
      [](std::string& text) { must(!policy::matches("*a/*a/*b", text), "matches"); }));
  costs.push_back(reading(
      "redaction/quotes", 200,
      [](size_t n) { return "[\"" + repeated(n, [](size_t) { return R"(\"a\\\" )"; }) + "\"]"; },
      [](std::string& text) {
        const std::array<std::string, 1> hidden = {"password"};
        keep(logs::redact(text, hidden, SIZE_MAX));
      }));
  costs.push_back({"splice", 2000, [](size_t n) -> Step {
                     return [text = message("[\"" + std::string(n, 'x') + "\"]")] {
                       call::Outgoing message;
                       message.text = text;
                       message.id = {text.find("1,"), 1};
                       std::string written;
                       call::Splice splice(message, 7, std::nullopt);
                       for (const std::string_view part : splice.framed("", "\n")) written += part;
                       must(written.size() == text.size() + 1, "splice");
                     };
                   }});
  return costs;
}

// Schemas from a server's list, and arguments of a client.
std::vector<CostCase> schema_costs() {
  const auto references = [](size_t size) -> Step {
    const std::string schema =
        R"({"$defs":{)" +
        repeated(size,
                 [](size_t i) {
                   const std::string number = std::to_string(i);
                   return (i == 0 ? "\"d" : ",\"d") + number + R"(":{"type":"integer"})";
                 }) +
        R"(},"prefixItems":[)" +
        repeated(size,
                 [](size_t i) {
                   return (i == 0 ? "" : ",") + (R"({"$ref":"#/$defs/d)" + std::to_string(i)) +
                          "\"}";
                 }) +
        "]}";
    return [schema] { must(schema::JsonSchema::compile(schema).has_value(), "a schema"); };
  };
  const auto members = [](size_t size) -> Step {
    const auto schema = std::make_shared<schema::JsonSchema>(
        *schema::JsonSchema::compile(R"({"additionalProperties":{"type":"integer"}})"));
    return [schema, text = object_of(size)] {
      schema::SchemaCheck check;
      must(check.check(*schema, text) == schema::Fit::fits, "arguments that fit");
      must(!check.repeated_key(), "keys that are there once");
    };
  };
  return {{"schema/references", 1000, references}, {"schema/members", 2000, members}};
}

}  // namespace

std::vector<CostCase> text_costs() {
  std::vector<CostCase> costs;
  for (const auto& some : {envelope_costs(), member_costs(), skipped_costs(), mcp_costs(),
                           schema_costs(), other_costs()}) {
    costs.insert(costs.end(), some.begin(), some.end());
  }
  return costs;
}

}  // namespace stdgate::test
