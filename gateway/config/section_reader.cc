// Reading a YAML tree.
#include "gateway/config/section_reader.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <regex>
#include <set>
#include <system_error>

#include "gateway/base/encodings.h"
#include "gateway/config/environment_variables.h"
#include "gateway/config/foreign_keys.h"
#include "gateway/config/options/option_rules.h"
#include "gateway/config/secret.h"
#include "gateway/config/value_names.h"
#include "gateway/config/value_parser.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::config {
namespace {

constexpr size_t kMaxQuoted = 60;  // bytes of a value that a message repeats

std::string in_quotes(const std::string& text) {
  if (text.size() <= kMaxQuoted) return "'" + text + "'";
  return "'" + std::string(cut_utf8(text, kMaxQuoted)) + "…'";
}

// RFC 8259 section 6.
bool is_json_number(const std::string& text) {
  static const std::regex kNumber(R"(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)");
  return text.size() <= 32 && std::regex_match(text, kNumber);
}

std::string from_to(const std::string& min, const std::string& max) {
  return " from " + min + " to " + max;
}

}  // namespace

void Value::fail(const std::string& message) const {
  // An empty value has no place of its own: yaml-cpp gives the place of the next token.
  fail_at(node_.IsNull() ? key_mark_ : node_.Mark(), path_, message);
}

void Value::fail_at_key(const std::string& message) const { fail_at(key_mark_, path_, message); }

void Value::fail_at_key(std::string_view key, const std::string& message) const {
  fail_at(key_mark_, child_path(std::string(key)), message);
}

void Value::fail_at(const YAML::Mark& mark, const std::string& path,
                    const std::string& message) const {
  ConfigError error;
  if (!mark.is_null()) {
    error.line = mark.line + 1;
    error.column = mark.column + 1;
  }
  error.path = path;
  error.message = message;
  reading_.get().errors.push_back(std::move(error));
}

std::string Value::child_path(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

std::string Value::found() const {
  if (node_.IsMap()) return "a map";
  if (node_.IsSequence()) return "a list";
  if (!node_.IsScalar()) return "nothing";
  return in_quotes(node_.Scalar());
}

std::optional<std::string> Value::text() const {
  if (!node_.IsScalar()) {
    const std::string hint = node_.IsNull() ? "; write \"\" for an empty text" : "";
    fail("expected a string, found " + found() + hint);
    return std::nullopt;
  }
  Reading& reading = reading_.get();
  std::set<std::string> secrets;
  const Environment environment = [&](const std::string& name) {
    auto value = reading.environment(name);
    if (value && looks_secret(name, *value)) secrets.insert(*value);
    return value;
  };
  auto expanded = expand_variables(node_.Scalar(), environment);
  if (!expanded) {
    fail(expanded.error());
    return std::nullopt;
  }
  if (expanded->find('\0') != std::string::npos) {
    fail("must not hold a NUL byte");
    return std::nullopt;
  }
  if (!secrets.empty()) reading.secrets[*expanded].merge(secrets);
  return *std::move(expanded);
}

std::optional<std::string> Value::path_text() const {
  auto path = text();
  if (!path) return std::nullopt;
  const std::string problem = wrong_with_path(*path);
  if (problem.empty()) return path;
  fail(problem);
  return std::nullopt;
}

std::optional<std::string> Value::read_file(const std::string& file, size_t limit) const {
  const FileReader& read = reading_.get().read_file;
  auto content = read ? read(file, limit) : tl::unexpected("cannot read " + file + " here");
  if (content) return *std::move(content);
  fail(content.error());
  return std::nullopt;
}

std::optional<std::string> Value::variable_file(const std::string& file) const {
  auto content = read_variable_file(file, reading_.get().read_file);
  if (content) return *std::move(content);
  fail(content.error());
  return std::nullopt;
}

std::optional<bool> Value::flag() const {
  const auto word = text();
  if (!word) return std::nullopt;
  if (*word == "true") return true;
  if (*word == "false") return false;
  fail("expected true or false, found " + in_quotes(*word));
  return std::nullopt;
}

std::optional<uint64_t> Value::count(const CountRange& range) const {
  const auto word = text();
  if (!word) return std::nullopt;
  const auto number = parse_count(*word);
  if (number && *number >= range.min && *number <= range.max) return number;
  fail("expected a whole number" + from_to(std::to_string(range.min), std::to_string(range.max)) +
       ", found " + in_quotes(*word));
  return std::nullopt;
}

std::optional<uint64_t> Value::size(const SizeRange& range) const {
  const auto word = text();
  if (!word) return std::nullopt;
  const auto bytes = parse_size(*word);
  if (!bytes) {
    fail(bytes.error());
    return std::nullopt;
  }
  if (*bytes >= range.min && *bytes <= range.max) return *bytes;
  fail("expected a size" + from_to(print_size(range.min), print_size(range.max)) + ", found " +
       in_quotes(*word));
  return std::nullopt;
}

std::optional<Duration> Value::duration(const DurationRange& range) const {
  const auto word = text();
  if (!word) return std::nullopt;
  const auto duration = parse_duration(*word);
  if (!duration) {
    fail(duration.error());
    return std::nullopt;
  }
  if (*duration >= range.min && *duration <= range.max) return *duration;
  fail("expected a duration" + from_to(print_duration(range.min), print_duration(range.max)) +
       ", found " + in_quotes(*word));
  return std::nullopt;
}

std::optional<double> Value::decimal() const {
  const auto word = text();
  if (!word) return std::nullopt;
  const auto number = parse_decimal(*word);
  if (!number) fail("expected a number, found " + in_quotes(*word));
  return number;
}

std::optional<std::string> Value::json() const {
  std::string out;
  if (node_.IsNull()) return "null";
  if (node_.IsSequence()) {
    const auto items = list();
    for (const Value& item : *items) {
      const auto json = item.json();
      if (!json) return std::nullopt;
      out.append(out.empty() ? "[" : ",").append(*json);
    }
    return out.empty() ? "[]" : out + "]";
  }
  if (node_.IsMap()) {
    const auto members = entries();
    if (!members) return std::nullopt;
    for (const Value& member : *members) {
      const auto json = member.json();
      if (!json) return std::nullopt;
      out += out.empty() ? "{" : ",";
      rpc::append_json_string(out, member.name());
      out.append(":").append(*json);
    }
    return out.empty() ? "{}" : out + "}";
  }
  auto word = text();
  if (!word) return std::nullopt;
  const bool is_quoted = node_.Tag() == "!";
  if (!is_quoted && (*word == "true" || *word == "false" || is_json_number(*word))) return word;
  rpc::append_json_string(out, *word);
  return out;
}

std::optional<std::vector<std::string>> Value::texts() const {
  const auto items = list();
  if (!items) return std::nullopt;
  std::vector<std::string> texts;
  for (const Value& item : *items) {
    if (auto text = item.text()) texts.push_back(*std::move(text));
  }
  if (texts.size() != items->size()) return std::nullopt;
  return texts;
}

std::vector<std::string> Value::words_spelled() const {
  if (node_.IsScalar()) return {node_.Scalar()};
  std::vector<std::string> words;
  if (!node_.IsSequence()) return words;
  for (const YAML::Node& item : node_) {
    if (item.IsScalar()) words.push_back(item.Scalar());
  }
  return words;
}

std::optional<std::vector<Value>> Value::list() const {
  if (!node_.IsSequence()) {
    fail("expected a list, found " + found());
    return std::nullopt;
  }
  std::vector<Value> items;
  for (const YAML::Node& item : node_) {
    items.emplace_back(item, item.Mark(), std::string(),
                       path_ + "[" + std::to_string(items.size()) + "]", reading_.get());
  }
  return items;
}

std::optional<std::vector<Value>> Value::entries() const {
  std::vector<Value> entries;
  if (node_.IsNull()) return entries;
  if (!node_.IsMap()) {
    fail("expected a map, found " + found());
    return std::nullopt;
  }
  std::map<std::string, int> seen;  // with their lines
  for (const auto& entry : node_) {
    const YAML::Node& key = entry.first;
    if (!key.IsScalar()) {
      fail_at(key.Mark(), path_, "a key must be a text");
    } else if (const auto [first, is_new] = seen.emplace(key.Scalar(), key.Mark().line + 1);
               !is_new) {
      fail_at(
          key.Mark(), child_path(key.Scalar()),
          "the key occurs twice; it stands in line " + std::to_string(first->second) + " already");
    } else {
      entries.emplace_back(entry.second, key.Mark(), key.Scalar(), child_path(key.Scalar()),
                           reading_.get());
    }
  }
  return entries;
}

Section::Section(const Value& value) : self_(value), entries_(value.entries()) {}

const Value* Section::entry(std::string_view key) const {
  if (!entries_) return nullptr;
  const auto it = std::find_if(entries_->begin(), entries_->end(),
                               [&](const Value& entry) { return entry.name() == key; });
  return it == entries_->end() ? nullptr : &*it;
}

std::optional<Value> Section::find(std::string_view key) {
  known_.push_back(key);
  const Value* found = entry(key);
  return found == nullptr ? std::nullopt : std::optional<Value>(*found);
}

void Section::finish() const {
  if (!entries_) return;
  for (const Value& entry : *entries_) {
    if (std::find(known_.begin(), known_.end(), entry.name()) != known_.end()) continue;
    if (const auto hint = foreign_key_hint(entry, *this, known_)) {
      entry.fail_at_key("unknown key; " + *hint);
      continue;
    }
    if (const auto nearest = nearest_word(entry.name(), known_)) {
      entry.fail_at_key("unknown key; did you mean '" + std::string(*nearest) + "'?");
      continue;
    }
    std::string keys;
    for (const std::string_view key : known_) keys += (keys.empty() ? "" : ", ") + std::string(key);
    entry.fail_at_key("unknown key; known here: " + keys);
  }
}

std::optional<std::string> Section::read_file_if_any(std::string_view key, const std::string& file,
                                                     size_t limit) const {
  const FileReader& read = self_.file_reader();
  if (!read) return std::nullopt;
  auto content = read(file, limit);
  if (content) return *std::move(content);
  const bool is_absent = content.error().ends_with(std::generic_category().message(ENOENT));
  if (!is_absent) fail(key, content.error());
  return std::nullopt;
}

bool Section::failed(std::string_view key) const {
  return std::find(failed_.begin(), failed_.end(), key) != failed_.end();
}

const Section* Section::part(std::string_view key) const {
  const auto it = std::find_if(parts_.begin(), parts_.end(),
                               [&](const Section& part) { return part.name() == key; });
  return it == parts_.end() ? nullptr : &*it;
}

void Section::fail(std::string_view key, const std::string& message) const {
  if (const Value* value = entry(key)) return value->fail(message);
  self_.fail_at_key(key, message);
}

void Section::fail_at_key(std::string_view key, const std::string& message) const {
  if (const Value* value = entry(key)) return value->fail_at_key(message);
  self_.fail_at_key(key, message);
}

}  // namespace stdgate::config
