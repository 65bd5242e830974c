// The keys of a backend that say its children's environment and have rules of their own.
#include "gateway/config/environment_section.h"

#include <algorithm>

#include "gateway/config/config.h"
#include "gateway/config/config_ranges.h"
#include "gateway/config/env_file.h"
#include "gateway/config/principal_variables.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {
namespace {

// What the file sets; nothing after errors, which have been recorded.
std::optional<std::map<std::string, std::string>> read_env_file(const Value& item,
                                                                const std::string& file) {
  if (file.empty()) {
    item.fail("expected the path of a file");
    return std::nullopt;
  }
  const auto content = item.read_file(file, kMaxEnvFile);
  if (!content) return std::nullopt;
  auto variables = parse_env_file(*content);
  if (variables) return *std::move(variables);
  for (const EnvFileError& error : variables.error()) {
    item.fail(file + ":" + std::to_string(error.line) + ": " + error.message);
  }
  return std::nullopt;
}

// Empty when `name` is a variable's name or a prefix.
std::string wrong_with_name(const std::string& name) {
  if (name.starts_with(kInheritOnly)) {
    return name == kInheritOnly
               ? "\"!\" must be the first entry: it stands for \"not the default list\""
               : "\"!\" stands alone, as the first entry, and is followed by all that is wanted";
  }
  if (name.empty()) return "expected a variable's name (\"!\" needs its quotes)";
  const size_t star = name.find('*');
  const bool is_name =
      name.find('=') == std::string::npos && (star == std::string::npos || star + 1 == name.size());
  return is_name ? "" : "expected a variable's name, or a prefix that ends in '*'";
}

// The value that is or names the text; nothing after an error.
std::optional<Value> file_of(const Value& entry) {
  Section section(entry);
  auto file = section.find("file");
  if (!file) section.fail("file", "missing; name the file, or write the value as a text");
  section.finish();
  return file;
}

}  // namespace

bool read_variable(const Value& entry, std::map<std::string, std::string>& values,
                   std::map<std::string, VariableSource>& sources) {
  const bool is_file = entry.is_map();
  const auto written = is_file ? file_of(entry) : entry;
  if (!written) return false;
  if (written->is_scalar() && principal_use(written->spelled()).any()) {
    VariableSource& source = sources[entry.name()];
    source = {written->spelled(), is_file, true};
    const auto sample = for_principal(source, {"sample", "sample"}, written->environment());
    if (!sample) written->fail(sample.error());
    return sample.has_value();
  }
  auto text = is_file ? written->path_text() : written->text();
  if (!text) return false;
  if (is_file) {
    sources[entry.name()] = {*text, true, false};
    text = written->variable_file(*text);
    if (!text) return false;
  }
  values.emplace(entry.name(), *std::move(text));
  return true;
}

bool read_env_files(const Value& value, size_t max_files, std::vector<std::string>& files,
                    std::map<std::string, std::string>& variables) {
  const auto items = value.is_scalar() ? std::vector<Value>{value} : value.list();
  if (!items) return false;
  if (items->size() > max_files) {
    value.fail("expected at most " + std::to_string(max_files) + " files");
    return false;
  }
  bool good = true;
  for (const Value& item : *items) {
    auto file = item.path_text();
    const auto read = file ? read_env_file(item, *file) : std::nullopt;
    if (!read) {
      good = false;
      continue;
    }
    for (const auto& [name, text] : *read) variables[name] = text;
    files.push_back(*std::move(file));
  }
  return good;
}

bool read_inherited(const Value& value, std::vector<std::string>& names) {
  const auto items = value.list();
  if (!items) return false;
  bool good = true;
  bool is_first = true;
  for (const Value& item : *items) {
    auto name = item.text();
    if (!name) {
      good = false;
    } else if (is_first && *name == kInheritOnly) {
      names.clear();
    } else if (const std::string wrong = wrong_with_name(*name); !wrong.empty()) {
      item.fail(wrong + "; found " + item.found());
      good = false;
    } else if (std::find(names.begin(), names.end(), *name) == names.end()) {
      names.push_back(*std::move(name));
    }
    is_first = false;
  }
  return good;
}

std::vector<std::string> inherited_entries(std::vector<std::string> names) {
  const BackendConfig defaults;
  const std::vector<std::string>& usual = defaults.env_inherit;
  const bool adds =
      names.size() >= usual.size() && std::equal(usual.begin(), usual.end(), names.begin());
  if (!adds) names.insert(names.begin(), std::string(kInheritOnly));
  return names;
}

}  // namespace stdgate::config
