// An address to listen on: a text, or a map of `address` and what holds for this listener alone.
#pragma once

#include <set>
#include <string>

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// Each function returns false after an error, which it has recorded. `used`: the addresses in use,
// to which the new address is added; null: the admin listener.
bool check_address(const Value& value, const std::string& text, std::set<std::string>* used);
bool read_listener_map(const Value& value, std::set<std::string>* used, ListenerConfig& out);
bool read_listener(const Value& value, std::set<std::string>* used, ListenerConfig& out);

}  // namespace stdgate::config
