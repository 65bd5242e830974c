// Reading a YAML tree by its schema: a Value is one node that knows its path and place, a Section
// is a map with fixed keys.
//
// Job: turn nodes into checked values, and whatever is wrong into errors with place and path; the
// reader goes on after each error, so that one run finds them all.
// Owner: one Reading, on parse_config()'s stack, outlives all values and sections. Internal to
// gateway/config: nobody else sees YAML.
#pragma once

#include <yaml-cpp/yaml.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/config/config_parser.h"
#include "gateway/config/config_ranges.h"
#include "gateway/config/value_names.h"

namespace stdgate {

struct Reading {
  const Environment& environment;
  std::vector<ConfigError> errors;
};

class Value {
 public:
  // `key_mark` is the place of the key (of an item: of the item).
  Value(const YAML::Node& node, const YAML::Mark& key_mark, std::string name, std::string path,
        Reading& reading)
      : node_(node),
        key_mark_(key_mark),
        name_(std::move(name)),
        path_(std::move(path)),
        reading_(reading) {}

  [[nodiscard]] const std::string& name() const { return name_; }  // the key; of an item: empty

  // Records an error at the value, at its key, or at the key `key` within it.
  void fail(const std::string& message) const;
  void fail_at_key(const std::string& message) const;
  void fail_at_key(std::string_view key, const std::string& message) const;

  // Each gives nothing after an error, which has been recorded then. Texts are expanded.
  [[nodiscard]] std::optional<std::string> text() const;
  [[nodiscard]] std::optional<bool> flag() const;
  [[nodiscard]] std::optional<uint64_t> count(const CountRange& range) const;
  [[nodiscard]] std::optional<uint64_t> size(const SizeRange& range) const;
  [[nodiscard]] std::optional<Duration> duration(const DurationRange& range) const;
  [[nodiscard]] std::optional<double> decimal() const;
  [[nodiscard]] std::optional<std::vector<std::string>> texts() const;
  [[nodiscard]] std::optional<std::vector<Value>> list() const;
  // The entries in the order of the file; an empty node is an empty map. A duplicate key is
  // recorded and left out.
  [[nodiscard]] std::optional<std::vector<Value>> entries() const;

  [[nodiscard]] bool is_scalar() const { return node_.IsScalar(); }
  // For messages: "'text'", "a list", "a map", "nothing".
  [[nodiscard]] std::string found() const;

 private:
  void fail_at(const YAML::Mark& mark, const std::string& path, const std::string& message) const;
  [[nodiscard]] std::string child_path(const std::string& key) const;

  YAML::Node node_;
  YAML::Mark key_mark_;
  std::string name_;
  std::string path_;
  std::reference_wrapper<Reading> reading_;
};

class Section {
 public:
  explicit Section(const Value& value);

  // The value at `key`, which counts as known from now on.
  [[nodiscard]] std::optional<Value> find(std::string_view key);
  // Call last: every key that nobody asked for is unknown.
  void finish() const;

  // Records an error at `key` where it is present, else at the section.
  void fail(std::string_view key, const std::string& message) const;

  // Reads `key` into `out`, which keeps its default when the key is absent. False after an error.
  //   section.take("max", pool.max, &Value::count, kPoolMax)
  template <class T, class Read, class... Ranges>
  bool take(std::string_view key, T& out, Read read, const Ranges&... ranges) {
    const std::optional<Value> value = find(key);
    if (!value) return true;
    auto parsed = std::invoke(read, *value, ranges...);
    if (!parsed) return false;
    out = static_cast<T>(*std::move(parsed));
    return true;
  }

  // The same for a word out of a table.
  template <class T, size_t N>
  bool take_word(std::string_view key, T& out, const std::array<Named<T>, N>& words) {
    const std::optional<Value> value = find(key);
    if (!value) return true;
    const std::optional<std::string> text = value->text();
    if (!text) return false;
    std::string expected;
    for (const Named<T>& word : words) {
      if (word.name == *text) {
        out = word.value;
        return true;
      }
      expected += (expected.empty() ? "" : ", ") + std::string(word.name);
    }
    value->fail("expected one of " + expected + "; found '" + *text + "'");
    return false;
  }

 private:
  [[nodiscard]] const Value* entry(std::string_view key) const;

  Value self_;
  std::vector<Value> entries_;
  std::vector<std::string_view> known_;  // asked for so far; literals
};

}  // namespace stdgate
