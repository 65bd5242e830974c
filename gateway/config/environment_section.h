// The keys of a backend that say its children's environment and have rules of their own: env,
// env_file and env_inherit.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::config {

class Value;
struct VariableSource;

// One entry of env, a text or { file: … }: its value goes to `values`, unless it names the
// principal, and where it comes from, if it is no plain text, to `sources`. False after an error,
// which has been recorded.
bool read_variable(const Value& entry, std::map<std::string, std::string>& values,
                   std::map<std::string, VariableSource>& sources);

// As the first entry of env_inherit: without the default list.
inline constexpr std::string_view kInheritOnly = "!";

// A text, or a list of them: paths are appended to `files`, and what the files set to `variables`,
// where a later file replaces what an earlier one sets. False after an error, which has been
// recorded.
bool read_env_files(const Value& value, size_t max_files, std::vector<std::string>& files,
                    std::map<std::string, std::string>& variables);

// Adds to `names`, the default list; from kInheritOnly on it replaces them. No name occurs twice.
// False after an error, which has been recorded.
bool read_inherited(const Value& value, std::vector<std::string>& names);

// The same names as read_inherited() can read them back; nothing is added to the default list.
std::vector<std::string> inherited_entries(std::vector<std::string> names);

}  // namespace stdgate::config
