// The options of a YAML tree, by their tables (options/).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/options/option.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// Reads all keys into `out`, which keeps its defaults for absent ones, and records each mistake by
// itself. `root` then has its parts and knows which keys failed, for the rules across keys
// (options/option_rules.h).
void read_options(Section& root, Config& out);
void read_options(Section& section, TlsConfig& out);

// --- Maps whose keys are the user's own names
//
// Each function returns false after an error, which it has recorded.

using TextMapValue = std::map<std::string, std::string>;
using TextListsValue = std::map<std::string, std::vector<std::string>>;

bool read_texts(const Value& value, size_t most, TextMapValue& out);
bool read_text_lists(const Value& value, size_t most, const TextRule& rule, TextListsValue& out);
bool read_arguments(const Value& value, size_t most, ToolArguments& out);

// --- An address to listen on: a text, or a map of `address` and what holds for this listener alone
//
// Each function returns false after an error, which it has recorded. `used` has the addresses in
// use, and gets the new one; null: for the admin listener.

bool check_address(const Value& value, const std::string& text, std::set<std::string>* used);
bool read_listener_map(const Value& value, std::set<std::string>* used, ListenerConfig& out);
bool read_listener(const Value& value, std::set<std::string>* used, ListenerConfig& out);

}  // namespace stdgate::config
