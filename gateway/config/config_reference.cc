// docs/configuration.md: what the tables of options say, in the words of a page.
#include <string_view>

#include "gateway/config/config_parser.h"
#include "gateway/config/options/option_info.h"

namespace stdgate::config {
namespace {

using Kind = OptionInfo::Kind;

constexpr std::string_view kIntroduction =
    "<!-- Printed by `stdgate config reference` from the tables in gateway/config/options. -->\n"
    "\n"
    "# Configuration\n"
    "\n"
    "stdgate reads `gateway.yaml` in the current directory, or the file of `--config`. Flags "
    "override it.\n"
    "`stdgate check` validates a file, reports all errors with their place, and prints it with "
    "every default.\n"
    "\n"
    "An editor with a language server for YAML completes and checks the file by its schema:\n"
    "`stdgate config schema > stdgate.schema.json`, and at the top of the file\n"
    "`# yaml-language-server: $schema=stdgate.schema.json`.\n"
    "\n"
    "| values | are written as |\n"
    "|---|---|\n"
    "| duration | `250ms`, `30s`, `5m`, `1h` |\n"
    "| rate | `20/s`, `100/m`, `5000/h` |\n"
    "| size | bytes: `512`, `64KiB`, `16MiB`, `1GiB` |\n"
    "| variable | `${NAME}` or `${NAME:-default}`, in any value, from the environment of stdgate; "
    "`$$` is a dollar sign |\n"
    "| address | `127.0.0.1:8080`, `localhost:8080`, `[::]:8080`, `:8080` (every IPv4 interface), "
    "`unix:/run/stdgate.sock` |\n";

std::string joined(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& key : path) text += (text.empty() ? "" : ".") + key;
  return text;
}

// The anchor that GitHub makes for a heading like "`backends.<name>.pool`".
std::string anchor_of(const OptionInfo& section) {
  std::string anchor = joined(section.path);
  std::erase_if(anchor, [](char c) { return c == '.' || c == '<' || c == '>'; });
  return anchor;
}

std::string word_list(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += "`" + words[i] + "`";
  }
  return text;
}

std::string type_of(const OptionInfo& option) {
  const std::string range = ", " + option.least + " to " + option.greatest;
  switch (option.kind) {
    case Kind::count:
      return "whole number" + range;
    case Kind::ratio:
      return "number, 0 to 1";
    case Kind::size:
      return "size" + range;
    case Kind::duration:
      return "duration" + range;
    case Kind::rate:
      return "rate, 1 to 1000000";
    case Kind::boolean:
      return "`true` or `false`";
    case Kind::text:
      return "text";
    case Kind::word:
      return word_list(option.words);
    case Kind::texts:
    case Kind::inherited:
    case Kind::command:
      return "list of texts";
    case Kind::variables:
      return "map of names to texts, or to `{ file: … }`";
    case Kind::text_lists:
      return "map of at most " + std::to_string(option.range.max) + " names to lists of texts";
    case Kind::text_map:
      return "map of at most " + std::to_string(option.range.max) + " names to texts";
    case Kind::arguments:
      return "map of at most " + std::to_string(option.range.max) +
             " tools to maps of arguments to values";
    case Kind::files:
      return "path, or a list of at most " + std::to_string(option.range.max);
    case Kind::address:
      return "address";
    case Kind::addresses:
      return "address, or a list of " + std::to_string(option.range.min) + " to " +
             std::to_string(option.range.max);
    case Kind::numbers:
      return "list of " + std::to_string(option.range.min) + " to " +
             std::to_string(option.range.max) + " numbers, above " + option.least + " to " +
             option.greatest;
    case Kind::word_or_section:
      return word_list(option.words) + ", or [keys](#" + anchor_of(option) + ")";
    case Kind::section:
      return "[keys](#" + anchor_of(option) + ")";
    case Kind::items:
      return "list of " + std::to_string(option.range.min) + " to " +
             std::to_string(option.range.max) + " maps of [keys](#" + anchor_of(option) + ")";
    case Kind::items_or_words:
      return "list of " + std::to_string(option.range.min) + " to " +
             std::to_string(option.range.max) + " names of backends, or maps of [keys](#" +
             anchor_of(option) + ")";
    case Kind::named:
    case Kind::backends:
      return "map of names to [keys](#" + anchor_of(option) + ")";
  }
  return {};
}

std::string default_of(const OptionInfo& option) {
  if (option.required) return "required";
  if (!option.default_words.empty()) return option.default_words;
  if (option.kind == Kind::section) return {};
  if (text_of(option.default_value).empty()) return "none";
  return "`" + yaml_of(option.default_value) + "`";
}

std::string meaning_of(const OptionInfo& option) {
  std::string text = sentence_of(option);
  if (!option.flag.name.empty()) text += " Flag: `" + std::string(option.flag.name) + "`.";
  return text;
}

void append_section(const OptionInfo& section, std::string& out) {
  const std::string heading = section.path.empty() ? "Top level" : "`" + joined(section.path) + "`";
  out += "\n## " + heading + "\n\n| key | values | default | meaning |\n|---|---|---|---|\n";
  for (const OptionInfo& option : section.options) {
    out += "| `" + option.key + "` | " + type_of(option) + " | " + default_of(option) + " | " +
           meaning_of(option) + " |\n";
  }
  for (const OptionInfo& option : section.options) {
    if (!option.options.empty()) append_section(option, out);
  }
}

}  // namespace

std::string config_reference() {
  std::string page(kIntroduction);
  append_section(describe_options(), page);
  return page;
}

}  // namespace stdgate::config
