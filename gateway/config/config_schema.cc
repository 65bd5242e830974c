// The configuration as a JSON Schema.
#include <algorithm>

#include "gateway/config/backend_facts.h"
#include "gateway/config/config_parser.h"
#include "gateway/config/options/option_info.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::config {
namespace {

using Kind = OptionInfo::Kind;

// Any value can hold ${NAME}, and is a text to YAML then.
constexpr std::string_view kOrVariable = "|\\$\\{";
constexpr std::string_view kDecimalPattern = "^[0-9.eE+-]+$";

std::string pattern_of(std::string_view pattern) {
  return std::string(pattern) + std::string(kOrVariable);
}

// "Children kept running. With isolation: session …" without Markdown's marks.
std::string description_of(const OptionInfo& option) {
  std::string text = sentence_of(option);
  if (!option.default_words.empty()) text += " Default: " + option.default_words + ".";
  std::erase(text, '`');
  return text;
}

void write_types(rpc::JsonWriter& json, std::initializer_list<std::string_view> types) {
  json.begin_array("type");
  for (const std::string_view type : types) json.text({}, type);
  json.end_array();
}

// YAML reads 5 and true as a number and a boolean; parse_config() takes them as texts too.
void write_text_type(rpc::JsonWriter& json) { write_types(json, {"string", "number", "boolean"}); }

void write_number(rpc::JsonWriter& json, const OptionInfo& option, std::string_view pattern) {
  write_types(json, {"integer", "string"});
  json.number("minimum", option.range.min);
  json.number("maximum", option.range.max);
  json.text("pattern", pattern_of(pattern));
}

void write_words(rpc::JsonWriter& json, const std::vector<std::string>& words) {
  json.begin_array("anyOf");
  json.begin_object();
  json.begin_array("enum");
  for (const std::string& word : words) {
    json.text({}, word);
    // YAML reads it as a boolean.
    if (word == "true" || word == "false") json.boolean({}, word == "true");
  }
  json.end_array();
  json.end_object();
  json.begin_object();
  json.text("type", "string");
  json.text("pattern", kOrVariable.substr(1));
  json.end_object();
  json.end_array();
}

void write_items_range(rpc::JsonWriter& json, const CountRange& range) {
  if (range.min != kAnyNumber.min) json.number("minItems", range.min);
  if (range.max != kAnyNumber.max) json.number("maxItems", range.max);
}

void write_anonymous(rpc::JsonWriter& json) {
  json.begin_object("anonymous");
  json.text("$ref", "#/properties/anonymous");
  json.end_object();
}

void write_roles(rpc::JsonWriter& json) {
  json.begin_object("roles");
  json.text("type", "array");
  json.begin_object("items");
  write_text_type(json);
  json.end_object();
  json.end_object();
}

// An address, or a map of it, its TLS, and what `write_more` writes.
void write_listener_types(rpc::JsonWriter& json, void (*write_more)(rpc::JsonWriter& json)) {
  json.begin_array("anyOf");
  json.begin_object();
  write_text_type(json);
  json.end_object();
  json.begin_object();
  json.text("type", "object");
  json.boolean("additionalProperties", false);
  json.begin_object("properties");
  json.begin_object("address");
  write_text_type(json);
  json.end_object();
  json.begin_object("tls");
  json.text("$ref", "#/properties/tls");
  json.end_object();
  write_more(json);
  json.end_object();
  json.begin_array("required");
  json.text({}, "address");
  json.end_array();
  json.end_object();
  json.end_array();
}

void write_texts(rpc::JsonWriter& json, const CountRange& items) {
  write_items_range(json, items);
  json.begin_object("items");
  write_text_type(json);
  json.end_object();
}

void write_numbers(rpc::JsonWriter& json, const OptionInfo& option) {
  json.text("type", "array");
  write_items_range(json, option.range);
  json.begin_object("items");
  write_types(json, {"number", "string"});
  json.raw("exclusiveMinimum", option.least);
  json.raw("maximum", option.greatest);
  json.text("pattern", pattern_of(kDecimalPattern));
  json.end_object();
}

void write_ratio(rpc::JsonWriter& json) {
  write_types(json, {"number", "string"});
  json.number("minimum", 0);
  json.number("maximum", 1);
  json.text("pattern", pattern_of(kDecimalPattern));
}

struct DefaultWriter {
  rpc::JsonWriter& json;
  std::string_view key = "default";

  void operator()(std::monostate) const {}
  void operator()(bool value) const { json.boolean(key, value); }
  void operator()(const Number& value) const { json.raw(key, value.text); }
  void operator()(const Plain& value) const { json.text(key, value.text); }
  void operator()(const std::string& value) const { json.text(key, value); }
  void operator()(const std::map<std::string, std::string>& values) const {
    json.begin_object(key);
    for (const auto& [name, value] : values) json.text(name, value);
    json.end_object();
  }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    json.begin_array(key);
    for (const T& value : values) DefaultWriter{json, {}}(value);
    json.end_array();
  }
};

void write_option(rpc::JsonWriter& json, const OptionInfo& option);

void write_keys(rpc::JsonWriter& json, const std::vector<OptionInfo>& options) {
  json.boolean("additionalProperties", false);
  json.begin_object("properties");
  for (const OptionInfo& option : options) {
    json.begin_object(option.key);
    write_option(json, option);
    json.end_object();
  }
  json.end_object();
  if (std::ranges::none_of(options, &OptionInfo::required)) return;
  json.begin_array("required");
  for (const OptionInfo& option : options) {
    if (option.required) json.text({}, option.key);
  }
  json.end_array();
}

void write_backends(rpc::JsonWriter& json, const OptionInfo& option) {
  json.text("type", "object");
  json.number("minProperties", option.range.min);
  json.number("maxProperties", option.range.max);
  json.begin_object("propertyNames");
  json.text("pattern", kBackendNamePattern);
  json.begin_object("not");
  json.begin_array("enum");
  for (const std::string_view name : reserved_backend_names()) json.text({}, name);
  json.end_array();
  json.end_object();
  json.end_object();
  json.begin_object("additionalProperties");
  json.text("type", "object");
  write_keys(json, option.options);
  json.end_object();
}

void write_file_text(rpc::JsonWriter& json) {
  json.text("type", "object");
  json.boolean("additionalProperties", false);
  json.begin_object("properties");
  json.begin_object("file");
  write_text_type(json);
  json.end_object();
  json.end_object();
  json.begin_array("required");
  json.text({}, "file");
  json.end_array();
}

void write_variables(rpc::JsonWriter& json) {
  write_types(json, {"object", "null"});
  json.begin_object("additionalProperties");
  json.begin_array("anyOf");
  json.begin_object({});
  write_text_type(json);
  json.end_object();
  json.begin_object({});
  write_file_text(json);
  json.end_object();
  json.end_array();
  json.end_object();
}

void write_items(rpc::JsonWriter& json, const OptionInfo& option) {
  json.text("type", "array");
  write_items_range(json, option.range);
  json.begin_object("items");
  json.text("type", "object");
  write_keys(json, option.options);
  json.end_object();
}

void write_items_or_words(rpc::JsonWriter& json, const OptionInfo& option) {
  json.text("type", "array");
  write_items_range(json, option.range);
  json.begin_object("items");
  json.begin_array("anyOf");
  json.begin_object();
  json.text("type", "string");
  json.end_object();
  json.begin_object();
  json.text("type", "object");
  write_keys(json, option.options);
  json.end_object();
  json.end_array();
  json.end_object();
}

// Names with a text each, or with any values of their own.
void write_map(rpc::JsonWriter& json, const OptionInfo& option) {
  write_types(json, {"object", "null"});
  json.number("maxProperties", option.range.max);
  json.begin_object("additionalProperties");
  if (option.kind == Kind::arguments) {
    json.text("type", "object");
  } else {
    write_text_type(json);
  }
  json.end_object();
}

void write_named(rpc::JsonWriter& json, const OptionInfo& option) {
  write_types(json, {"object", "null"});
  json.number("maxProperties", option.range.max);
  json.begin_object("additionalProperties");
  write_types(json, {"object", "null"});
  write_keys(json, option.options);
  json.end_object();
}

void write_word_or_section(rpc::JsonWriter& json, const OptionInfo& option) {
  json.begin_array("anyOf");
  json.begin_object();
  write_words(json, option.words);
  json.end_object();
  json.begin_object();
  write_types(json, {"object", "null"});
  write_keys(json, option.options);
  json.end_object();
  json.end_array();
}

void write_text_lists(rpc::JsonWriter& json, const OptionInfo& option) {
  write_types(json, {"object", "null"});
  json.number("maxProperties", option.range.max);
  json.begin_object("additionalProperties");
  json.text("type", "array");
  write_texts(json, kAnyNumber);
  json.end_object();
}

void write_type(rpc::JsonWriter& json, const OptionInfo& option) {
  switch (option.kind) {
    case Kind::count:
      return write_number(json, option, "^[0-9]+$");
    case Kind::ratio:
      return write_ratio(json);
    case Kind::size:
      return write_number(json, option, "^[0-9]+(KiB|MiB|GiB)?$");
    case Kind::duration:
      json.text("type", "string");
      return json.text("pattern", pattern_of("^[0-9]+(ms|s|m|h)$"));
    case Kind::rate:
      json.text("type", "string");
      return json.text("pattern", pattern_of("^[0-9]+/[smh]$"));
    case Kind::boolean:
      write_types(json, {"boolean", "string"});
      return json.text("pattern", pattern_of("^(true|false)$"));
    case Kind::text:
      return write_text_type(json);
    case Kind::address:
      return write_listener_types(json, write_roles);
    case Kind::word:
      return write_words(json, option.words);
    case Kind::texts:
    case Kind::inherited:
      json.text("type", "array");
      return write_texts(json, option.range);
    case Kind::variables:
      return write_variables(json);
    case Kind::text_lists:
      return write_text_lists(json, option);
    case Kind::text_map:
    case Kind::arguments:
      return write_map(json, option);
    case Kind::command:
      json.text("type", "array");
      return write_texts(json, {1, kAnyNumber.max});
    case Kind::files:
      write_types(json, {"array", "string"});
      return write_texts(json, option.range);
    case Kind::addresses:
      write_types(json, {"array", "string"});
      write_items_range(json, option.range);
      json.begin_object("items");
      write_listener_types(json, write_anonymous);
      return json.end_object();
    case Kind::numbers:
      return write_numbers(json, option);
    case Kind::section:
      write_types(json, {"object", "null"});
      return write_keys(json, option.options);
    case Kind::word_or_section:
      return write_word_or_section(json, option);
    case Kind::items:
      return write_items(json, option);
    case Kind::items_or_words:
      return write_items_or_words(json, option);
    case Kind::named:
      return write_named(json, option);
    case Kind::backends:
      return write_backends(json, option);
  }
}

void write_option(rpc::JsonWriter& json, const OptionInfo& option) {
  json.text("description", description_of(option));
  write_type(json, option);
  if (option.default_words.empty() && !option.required) {
    std::visit(DefaultWriter{json}, option.default_value);
  }
}

}  // namespace

std::string config_schema() {
  rpc::JsonWriter json(rpc::JsonWriter::Layout::lines);
  json.begin_object();
  json.text("$schema", "https://json-schema.org/draft/2020-12/schema");
  json.text("title", "Configuration of stdgate");
  json.text("type", "object");
  write_keys(json, describe_options().options);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace stdgate::config
