// Rules across the keys of `auth`, and with the listeners.
#pragma once

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// `out` has been read from `section`; fills in what depends on other keys, and records errors.
void complete_item(const Section& section, ApiKeyConfig& out);
void complete_item(const Section& section, JwtConfig& out);
void complete_item(const Section& section, RuleConfig& out);
void complete_item(const Section& section, SignatureConfig& out);
// Rules that need the whole configuration.
void complete_auth(const Section& root, Config& out);

}  // namespace stdgate::config
