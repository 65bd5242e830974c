// The table of options: every row is read, printed, in the schema and in the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "gateway/config/config_parser.h"
#include "gateway/config/options/option_info.h"

namespace stdgate::config {
namespace {

using testing::HasSubstr;
using Kind = config::OptionInfo::Kind;

// The rows that have a value, of all sections. An item of a list in `auth` needs several keys
// together, so such a list is one row.
void append_leaves(const config::OptionInfo& section, std::vector<config::OptionInfo>& out) {
  for (const config::OptionInfo& option : section.options) {
    if (option.options.empty()) {
      out.push_back(option);
    } else if (option.kind == Kind::items && option.path[0] == "auth") {
      out.push_back(option);
      out.back().path.pop_back();
    } else {
      append_leaves(option, out);
    }
  }
}

std::vector<config::OptionInfo> leaves() {
  std::vector<config::OptionInfo> found;
  append_leaves(config::describe_options(), found);
  return found;
}

std::string joined(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& key : path) text += (text.empty() ? "" : ".") + key;
  return text;
}

// Values that an option can have. At least one of them differs from the default, and is valid
// together with the other keys.
std::vector<std::string> samples(const config::OptionInfo& option) {
  switch (option.kind) {
    case Kind::count:
      return {option.least, std::to_string(option.range.min + 1), option.greatest};
    case Kind::size:
    case Kind::duration:
      return {option.least, option.greatest};
    case Kind::rate:
      return {"20/s", "100/m", "1000000/h"};
    case Kind::boolean:
      return {"true", "false"};
    case Kind::ratio:
      return {"0", "0.5", "1"};
    case Kind::word:
      return option.words;
    case Kind::text:
      return {
          "\"/sample\"", "sample", "sample.key", "sample.json", "\"https://sample.example\"", "a"};
    case Kind::text_map:
      return {"{ sample: x }"};
    case Kind::arguments:
      return {"{ sample: { x: 1, y: [\"2\", { z: true }], \"0\": \"null\" } }"};
    case Kind::items_or_words:
      return {"[a]", "[{ backend: a, prefix: x }]"};
    case Kind::items:
      return {"[{ name: a, hash: \"sha256:" + std::string(64, '1') + "\" }]",
              "[{ issuer: i, audience: [a], jwks: { file: f } }]",
              "[{ key_id: a, public_key: f }]"};
    case Kind::text_lists:
      return {"{ \"CN=a*\": [b, c] }"};
    case Kind::variables:
      return {"{ SAMPLE: \"1\" }"};
    case Kind::texts:
      return {"[sample]", "[\"https://sample.example\"]", "[\"10.1.0.0/16\"]", "[\"443\"]",
              "[a_x]"};
    case Kind::command:
    case Kind::files:
    case Kind::inherited:
      return {"[sample]"};
    case Kind::address:
      return {"\"127.0.0.1:1\""};
    case Kind::addresses:
      return {"[\"127.0.0.1:1\"]"};
    case Kind::numbers:
      return {"[0.5, 2]"};
    case Kind::section:
    case Kind::word_or_section:
    case Kind::named:
    case Kind::backends:
      break;
  }
  return {};
}

// The other members that `tls` needs beside `key`.
std::string beside_in_tls(const std::string& key) {
  std::string others;
  for (const std::string other : {"certificate", "key", "client_ca"}) {
    const bool is_needed = other != "client_ca" || key == "client_certificate" || key == "crl";
    if (is_needed && other != key) others += (others.empty() ? "" : ", ") + other + ": x";
  }
  return others;
}

// `auth.mtls` needs a listener that asks for certificates, which the top-level `tls` provides.
std::string beside_auth(const config::OptionInfo& option) {
  if (option.path.size() < 2 || option.path[1] != "mtls") return "";
  return "tls: { certificate: x, key: x, client_ca: x }\n";
}

// The other members that `audit` and `traces` need.
std::string beside_in_audit(const std::string& key) { return key == "file" ? "" : "file: x"; }
std::string beside_in_traces(const std::string& key) {
  return key == "endpoint" ? "" : ", endpoint: \"http://a\"";
}

// The other members that `auth` needs beside `key`.
std::string beside_in_auth(const std::string& key) {
  if (key == "scopes") return ", public_url: \"https://a\", jwt: [{ issuer: \"https://i\" }]";
  if (key == "jwt") return ", public_url: \"https://a\"";
  return key == "public_url" ? ", api_key_file: sample.key" : "";
}

// The other members that a virtual server needs beside `option`.
std::string beside_in_server(const config::OptionInfo& option) {
  const bool has_members = option.path.size() > 2 && option.path[2] == "members";
  return has_members ? "" : ", members: [a]";
}

// A file with `value` for `option`, and otherwise only what is required.
std::string file_with(const config::OptionInfo& option, const std::string& value,
                      const std::string& protocol) {
  const bool of_backend = option.path.size() > 1 && option.path[0] == "backends";
  const size_t top = of_backend ? 2 : 0;
  std::string nested = value;
  for (size_t i = option.path.size(); i > top; --i) {
    if (option.path[i - 1] == config::kAnyItem) {
      // The members that every rule and every member of a server needs.
      const bool is_member = option.path[i - 2] == "members";
      if (is_member && option.key != "backend") nested.insert(1, " backend: a,");
      if (!is_member && option.key != "allow") nested.insert(1, " allow: [a],");
      nested = "[" + nested + "]";
      continue;
    }
    const bool is_name = option.path[i - 1] == config::kAnyName;
    nested.insert(0, (is_name ? "sample_name" : option.path[i - 1]) + ": ");
    if (i == 2 && option.path[0] == "tls") nested += ", " + beside_in_tls(option.key);
    if (i == 2 && option.path[0] == "auth") nested += beside_in_auth(option.key);
    if (i == 2 && option.path[0] == "audit" && option.key != "file") {
      nested += ", " + beside_in_audit(option.key);
    }
    if (i == 2 && option.path[0] == "traces") nested += beside_in_traces(option.key);
    if (i == 3 && option.path[0] == "servers") nested += beside_in_server(option);
    if (i - 1 > top) nested = "{ " + nested + " }";
  }
  if (!of_backend)
    return "backends: { a: { command: [x], protocol: " + protocol + " } }\n" + beside_auth(option) +
           nested + "\n";
  std::string others;
  if (option.key != "command") others += "command: [x], ";
  if (option.key != "protocol") others += "protocol: " + protocol + ", ";
  return "backends: { a: { " + others + nested + " } }\n";
}

// A file like that of file_with(), but without `option`.
std::string file_without(const config::OptionInfo& option, const std::string& protocol) {
  if (option.path[0] == "audit" && !option.required) {
    return "backends: { a: { command: [x], protocol: " + protocol + " } }\naudit: { " +
           beside_in_audit(option.key) + " }\n";
  }
  if (option.path[0] == "traces" && !option.required) {
    return "backends: { a: { command: [x], protocol: " + protocol + " } }\ntraces: { " +
           beside_in_traces(option.key).substr(2) + " }\n";
  }
  if (option.path[0] == "servers" && option.path.size() > 2 && !option.required) {
    return "backends: { a: { command: [x], protocol: " + protocol +
           " } }\nservers: { sample_name: { members: [a] } }\n";
  }
  if (option.path[0] == "auth" && option.key == "scopes") {
    return "backends: { a: { command: [x], protocol: " + protocol + " } }\nauth: { " +
           beside_in_auth(option.key).substr(2) + " }\n";
  }
  return "backends: { a: { command: [x]" +
         (option.key == "protocol" ? "" : ", protocol: " + protocol) + " } }\n" +
         (option.path[0] == "tls" && !option.required
              ? "tls: { " + beside_in_tls(option.key) + " }\n"
              : beside_auth(option));
}

// All files set the same variable, except two: one has a key, the other an OpenRPC document.
tl::expected<std::string, std::string> read_sample(const std::string& file, size_t) {
  if (file == "sample.json") {
    return R"({"openrpc":"1.3.2","info":{"title":"t","version":"1"},"methods":[]})";
  }
  return file == "sample.key" ? std::string(64, '1') : "SAMPLE=1\n";
}

tl::expected<config::Config, std::vector<config::ConfigError>> parse(const std::string& yaml) {
  return config::parse_config(yaml, {}, {}, read_sample);
}

// Whether `sample` is valid for `option` and differs from its default. Then the option must be
// printed. Unless the print hides a secret, reading it must give the same configuration.
bool changes(const config::OptionInfo& option, const std::string& sample,
             const std::string& protocol) {
  const auto config = parse(file_with(option, sample, protocol));
  const auto base = parse(file_without(option, protocol));
  if (!config || !base || *config == *base) return false;
  const std::string printed = config::print_config(*config);
  std::string indent(2 * (option.path.size() - 1), ' ');
  if (option.key == "allow" || option.key == "backend")
    indent.replace(indent.size() - 2, 2, "- ");  // the first member of an item
  EXPECT_THAT("\n" + printed, HasSubstr("\n" + indent + option.key + ":")) << joined(option.path);
  if (printed.find("***hidden***") != std::string::npos) return true;
  const auto again = parse(printed);
  EXPECT_TRUE(again && *again == *config) << joined(option.path) << "\n" << printed;
  return true;
}

TEST(Options, EveryRowIsReadAndPrinted) {
  const std::vector<config::OptionInfo> options = leaves();
  ASSERT_GT(options.size(), 40U);
  for (const config::OptionInfo& option : options) {
    bool changed = false;
    for (const std::string& sample : samples(option)) {
      for (const char* protocol : {"jsonrpc", "mcp", "acp"}) {
        changed = changes(option, sample, protocol) || changed;
      }
    }
    EXPECT_TRUE(changed) << joined(option.path) << ": no sample changes the configuration";
  }
}

TEST(Options, DefaultsAreThoseOfAFileThatSaysNothing) {
  for (const config::OptionInfo& option : leaves()) {
    // An empty map is not a default here, because the presence of the map has a meaning.
    if (option.path.size() > 3 && option.path[2] == "sandbox") continue;
    const std::string value = config::yaml_of(option.default_value);
    if (!option.default_words.empty() || option.required || value.empty()) continue;
    const std::string protocol = option.path[0] == "servers" ? "mcp" : "jsonrpc";
    const auto said = parse(file_with(option, value, protocol));
    const auto silent = parse(file_without(option, protocol));
    EXPECT_TRUE(said && silent && *said == *silent) << joined(option.path);
  }
}

TEST(Options, RowsReadWell) {
  std::set<std::string> seen;
  std::vector<const config::OptionInfo*> open;
  const config::OptionInfo root = config::describe_options();
  open.push_back(&root);
  while (!open.empty()) {
    const config::OptionInfo& section = *open.back();
    open.pop_back();
    EXPECT_FALSE(section.title.empty()) << section.key;
    for (const config::OptionInfo& option : section.options) {
      const std::string path = joined(option.path);
      EXPECT_TRUE(seen.insert(path).second) << path << " is there twice";
      ASSERT_FALSE(option.help.empty()) << path;
      EXPECT_NE(option.help.back(), '.') << path;
      EXPECT_EQ(option.help.find('`'), std::string::npos) << path;
      if (!option.details.empty()) {
        EXPECT_EQ(option.details.back(), '.') << path;
      }
      if (!option.options.empty()) open.push_back(&option);
    }
  }
}

class Schema : public testing::Test {
 protected:
  // The schema of the option at `path`.
  simdjson::dom::element at(const config::OptionInfo& option) {
    simdjson::dom::element node = root_;
    for (const std::string& key : option.path) {
      if (simdjson::dom::element map; map_of(node).get(map) == simdjson::SUCCESS) node = map;
      node = key == config::kAnyName   ? node["additionalProperties"].value()
             : key == config::kAnyItem ? node["items"].value()
                                       : node["properties"][key].value();
    }
    return node;
  }

  // The map in a schema that allows a word or a map.
  static simdjson::simdjson_result<simdjson::dom::element> map_of(simdjson::dom::element node) {
    // Here a text may stand for a map with one key.
    if (std::string_view type; node["anyOf"].at(0)["type"].get(type) == simdjson::SUCCESS) {
      return node["anyOf"].at(1);
    }
    simdjson::dom::element words;
    const auto error = node["anyOf"].at(0)["anyOf"].get(words);
    if (error != simdjson::SUCCESS) return error;
    return node["anyOf"].at(1);
  }

  const std::string text_ = config::config_schema();
  simdjson::dom::parser parser_;
  const simdjson::dom::element root_ = parser_.parse(text_).value();
};

TEST_F(Schema, HasEveryKeyAndItsDefault) {
  EXPECT_EQ(std::string_view(root_["$schema"]), "https://json-schema.org/draft/2020-12/schema");
  for (const config::OptionInfo& option : leaves()) {
    const std::string path = joined(option.path);
    const simdjson::dom::element schema = at(option);
    EXPECT_THAT(std::string(std::string_view(schema["description"])), testing::Not(HasSubstr("`")));
    EXPECT_EQ(
        schema["type"].error() == simdjson::SUCCESS || schema["anyOf"].error() == simdjson::SUCCESS,
        true)
        << path;
    const bool has_default = option.default_words.empty() && !option.required &&
                             !std::holds_alternative<std::monostate>(option.default_value);
    EXPECT_EQ(schema["default"].error() == simdjson::SUCCESS, has_default) << path;
    if (!has_default) continue;
    if (option.kind == Kind::count) {
      EXPECT_EQ(std::to_string(uint64_t(schema["default"])), config::text_of(option.default_value))
          << path;
    } else if (option.kind == Kind::size || option.kind == Kind::duration) {
      EXPECT_EQ(std::string_view(schema["default"]), config::text_of(option.default_value)) << path;
    }
  }
}

size_t count_keys(const config::OptionInfo& section) {
  size_t count = section.options.size();
  for (const config::OptionInfo& option : section.options) count += count_keys(option);
  return count;
}

// The schema has exactly the keys of the table, and no map allows other keys.
TEST_F(Schema, HasNoOtherKeys) {
  size_t keys = 0;
  size_t closed = 0;
  std::vector<simdjson::dom::element> open{root_};
  while (!open.empty()) {
    const simdjson::dom::element node = open.back();
    open.pop_back();
    simdjson::dom::object properties;
    if (node["properties"].get(properties) == simdjson::SUCCESS) {
      EXPECT_FALSE(bool(node["additionalProperties"]));
      ++closed;
      for (const auto& [key, value] : properties) {
        ++keys;
        open.push_back(value);
      }
    }
    if (simdjson::dom::element map; map_of(node).get(map) == simdjson::SUCCESS) {
      open.push_back(map);
    }
    simdjson::dom::element items;
    if (node["items"].get(items) == simdjson::SUCCESS) open.push_back(items);
    simdjson::dom::element others;
    if (node["additionalProperties"].get(others) == simdjson::SUCCESS && others.is_object()) {
      open.push_back(others);
    }
  }
  EXPECT_EQ(keys, count_keys(config::describe_options()));
  EXPECT_EQ(closed, 37U);  // the top level, a backend, its pool, limits, rules, …
}

TEST_F(Schema, ListsTheWords) {
  for (const config::OptionInfo& option : leaves()) {
    if (option.kind != Kind::word) continue;
    std::vector<std::string> words;
    for (const simdjson::dom::element word : at(option)["anyOf"].at(0)["enum"].get_array()) {
      // A word that YAML reads as a boolean is also listed as a boolean.
      if (word.is_bool()) {
        EXPECT_EQ(words.back(), bool(word) ? "true" : "false");
      } else {
        words.emplace_back(std::string_view(word));
      }
    }
    EXPECT_EQ(words, option.words) << joined(option.path);
  }
}

TEST(Reference, HasEveryKey) {
  const std::string page = config::config_reference();
  for (const config::OptionInfo& option : leaves()) {
    std::vector<std::string> section = option.path;
    section.pop_back();
    const std::string heading =
        section.empty() ? "\n## Top level\n" : "\n## `" + joined(section) + "`\n";
    const size_t begin = page.find(heading);
    ASSERT_NE(begin, std::string::npos) << heading;
    const size_t end = std::min(page.find("\n## ", begin + 1), page.size());
    EXPECT_THAT(page.substr(begin, end - begin), HasSubstr("\n| `" + option.key + "` | "))
        << heading;
  }
}

// STDGATE_WRITE_PAGES=1 writes it anew.
TEST(Reference, IsTheCommittedPage) {
  const char* const path = STDGATE_SOURCE_DIR "/docs/configuration.md";
  if (std::getenv("STDGATE_WRITE_PAGES") != nullptr) {
    std::ofstream(path, std::ios::binary) << config::config_reference();
  }
  std::ifstream committed(path, std::ios::binary);
  std::istringstream printed(config::config_reference());
  std::string line;
  for (std::string expected; std::getline(printed, expected);) {
    std::getline(committed, line);
    ASSERT_EQ(line, expected) << "run this test with STDGATE_WRITE_PAGES=1 in its environment";
  }
  EXPECT_FALSE(std::getline(committed, line)) << line;
}

// A section that shows what a row of a list can be: texts with a parser of their own.
struct Even {
  int number = 0;
  static std::optional<Even> parse(std::string_view text) {
    if (text.size() != 1 || (text[0] - '0') % 2 != 0) return std::nullopt;
    return Even{text[0] - '0'};
  }
  [[nodiscard]] std::string to_string() const { return std::to_string(number); }
};
struct Numbers {
  std::vector<Even> even{{2}};
};

TEST(ListOf, KeepsWhatItsTextsStandFor) {
  constexpr config::List<Numbers> kList = config::list_of<&Numbers::even>(config::kAnyText, {0, 3});
  Numbers numbers;
  EXPECT_EQ(config::yaml_of(config::value_of(kList, numbers)), "[\"2\"]");
  kList.clear(numbers);
  EXPECT_TRUE(kList.append(numbers, "4"));
  EXPECT_FALSE(kList.append(numbers, "5"));
  EXPECT_TRUE(kList.append(numbers, "6"));
  EXPECT_EQ(config::text_of(config::value_of(kList, numbers)), "4, 6");
  EXPECT_EQ(kList.items.max, 3U);
}

TEST(OptionValue, IsTextAndYaml) {
  struct Case {
    config::OptionValue value;
    std::string text;
    std::string yaml;
  };
  const Case cases[] = {
      {{}, "", ""},
      {true, "true", "true"},
      {Number{"5"}, "5", "5"},
      {config::Plain{"64KiB"}, "64KiB", "64KiB"},
      {std::string("a\"b\\"), "a\"b\\", "\"a\\\"b\\\\\""},
      {std::vector<std::string>{}, "", "[]"},
      {std::vector<std::string>{"a", "b"}, "a, b", "[\"a\", \"b\"]"},
      {std::vector<Number>{{"1"}, {"2.5"}}, "1, 2.5", "[1, 2.5]"},
      {std::map<std::string, std::string>{{"A", "1"}}, "A=1", "{\"A\": \"1\"}"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(config::text_of(c.value), c.text);
    EXPECT_EQ(config::yaml_of(c.value), c.yaml);
  }
}

}  // namespace
}  // namespace stdgate::config
