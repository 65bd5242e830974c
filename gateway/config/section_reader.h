// Reading a YAML tree: a Value is one node that knows its path and place, a Section is a map with
// fixed keys.
//
// Job: turn nodes into checked values, and whatever is wrong into errors with place and path; the
// reader goes on after each error, so that one run finds them all.
// Owner: one Reading, on parse_config()'s stack, outlives all values and sections. Internal to
// gateway/config: no other part sees YAML.
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/config/config_parser.h"
#include "gateway/config/config_ranges.h"

namespace stdgate::config {

// The state of one run over a file, which all its values and sections share.
struct Reading {
  const Environment& environment;
  const FileReader& read_file;  // may be empty
  std::vector<ConfigError> errors;
  std::map<std::string, std::set<std::string>> secrets;  // as in Config
};

// Value: one node of the tree, with its path and its place in the file. A value; copied.
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
  // A text that names a file or a directory; nothing expands a ~ in it.
  [[nodiscard]] std::optional<std::string> path_text() const;
  [[nodiscard]] std::optional<bool> flag() const;
  [[nodiscard]] std::optional<uint64_t> count(const CountRange& range) const;
  [[nodiscard]] std::optional<uint64_t> size(const SizeRange& range) const;
  [[nodiscard]] std::optional<Duration> duration(const DurationRange& range) const;
  [[nodiscard]] std::optional<double> decimal() const;
  [[nodiscard]] std::optional<std::vector<std::string>> texts() const;
  // Any value as JSON: what is in quotes is a text, all else what JSON reads it as, or a text.
  [[nodiscard]] std::optional<std::string> json() const;
  [[nodiscard]] std::optional<std::vector<Value>> list() const;
  // The entries in the order of the file; an empty node is an empty map. A duplicate key is
  // recorded and left out.
  [[nodiscard]] std::optional<std::vector<Value>> entries() const;

  [[nodiscard]] const FileReader& file_reader() const { return reading_.get().read_file; }
  // The content of `file`, which the value names.
  [[nodiscard]] std::optional<std::string> read_file(const std::string& file, size_t limit) const;

  // The content of a file that holds the value of one variable.
  [[nodiscard]] std::optional<std::string> variable_file(const std::string& file) const;
  // Of a scalar, or of a list of them: as they are written, not expanded; else nothing.
  [[nodiscard]] std::vector<std::string> words_spelled() const;
  // Of a scalar: as it is written, not expanded.
  [[nodiscard]] const std::string& spelled() const { return node_.Scalar(); }
  [[nodiscard]] const Environment& environment() const { return reading_.get().environment; }

  [[nodiscard]] bool is_scalar() const { return node_.IsScalar(); }
  [[nodiscard]] bool is_map() const { return node_.IsMap(); }
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

// Section: a map with fixed keys.
class Section {
 public:
  // Records an error when `value` is no map; then the section is empty.
  explicit Section(const Value& value);

  [[nodiscard]] const std::string& name() const { return self_.name(); }
  // In the order of the file; nothing after that error.
  [[nodiscard]] const std::optional<std::vector<Value>>& entries() const { return entries_; }

  // The value at `key`, which counts as known from now on.
  [[nodiscard]] std::optional<Value> find(std::string_view key);
  // Call last: every key that was not asked for is unknown.
  void finish() const;

  // For rules across keys, once all have been read.
  [[nodiscard]] bool has(std::string_view key) const { return entry(key) != nullptr; }
  // Null: there is no such key. The key does not count as known by this.
  [[nodiscard]] const Value* peek(std::string_view key) const { return entry(key); }
  // Whether the value at `key` could not be read: the member has its default, which no rule should
  // judge.
  [[nodiscard]] bool failed(std::string_view key) const;
  // The content of a file. Nothing: no file is named, or it cannot be read, which is recorded at
  // `key`.
  [[nodiscard]] std::optional<std::string> read_file_if_any(std::string_view key,
                                                            const std::string& file,
                                                            size_t limit) const;
  void mark_failed(std::string_view key) { failed_.push_back(key); }
  [[nodiscard]] bool any_failed() const { return !failed_.empty(); }
  // The section that was read at `key`; null: none was.
  [[nodiscard]] const Section* part(std::string_view key) const;
  void add_part(Section part) { parts_.push_back(std::move(part)); }

  // Records an error at `key` where it is present, else at the section.
  void fail(std::string_view key, const std::string& message) const;
  // As add_error(), but at the key in place of its value.
  void fail_at_key(std::string_view key, const std::string& message) const;

 private:
  [[nodiscard]] const Value* entry(std::string_view key) const;

  Value self_;
  std::optional<std::vector<Value>> entries_;
  std::vector<std::string_view> known_;   // asked for so far; literals
  std::vector<std::string_view> failed_;  // literals
  std::vector<Section> parts_;
};

}  // namespace stdgate::config
