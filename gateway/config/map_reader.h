// Maps of a YAML tree whose keys are the user's own names. Each gives false after an error, which
// has been recorded then.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gateway/config/options/option.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

using TextMapValue = std::map<std::string, std::string>;
using TextListsValue = std::map<std::string, std::vector<std::string>>;

bool read_texts(const Value& value, size_t most, TextMapValue& out);
bool read_text_lists(const Value& value, size_t most, const TextRule& rule, TextListsValue& out);
bool read_arguments(const Value& value, size_t most, ToolArguments& out);

}  // namespace stdgate::config
