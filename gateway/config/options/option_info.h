// The tables of options as plain values, for who describes them: --help, the JSON Schema and the
// reference. The command line finds its flags here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config_ranges.h"
#include "gateway/config/options/option_value.h"

namespace stdgate::config {

// An option without the type of its section: for the reference, the schema and the flags.
struct OptionInfo {
  enum class Kind : uint8_t {
    count,
    ratio,
    size,
    duration,
    rate,
    boolean,
    text,
    word,
    texts,
    variables,
    text_lists,  // by name
    text_map,    // the same with one text each
    arguments,   // any values by two names
    files,
    inherited,
    command,
    address,
    addresses,
    numbers,
    section,
    word_or_section,
    items,           // a list of sections
    items_or_words,  // the same, where a text stands for a section with one key
    named,           // a map of names to sections
    backends
  };

  std::string key;                // empty: the whole configuration
  std::vector<std::string> path;  // from the top; kAnyName stands for a name, kAnyItem for an item
  Kind kind = Kind::section;
  CountRange range{};              // of a count, of a size in bytes, of the items of a list
  std::string least;               // the range as it is written: "1KiB"; empty: none
  std::string greatest;            //
  std::vector<std::string> words;  // of Kind::word and Kind::word_or_section
  OptionValue default_value;
  std::string default_words;  // instead of default_value, where not empty
  OptionFlag flag;
  std::string help;
  std::string details;
  bool required = false;

  // Of a section, and of each item, named one and backend.
  std::string title;
  std::vector<OptionInfo> options;
};

inline constexpr std::string_view kAnyName = "<name>";
inline constexpr std::string_view kAnyItem = "<item>";

// "Children kept running. With `isolation: session` …": help and details as sentences, in Markdown.
std::string sentence_of(const OptionInfo& option);

// The whole configuration; sections come last at the top, as in print_config().
OptionInfo describe_options();

}  // namespace stdgate::config
