// The options of a YAML tree, by their tables (options/).
#pragma once

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// Reads all keys into `out`, which keeps its defaults for absent ones, and records each mistake by
// itself. `root` then has its parts and knows which keys failed, for the rules across keys
// (options/section_rules.h).
void read_options(Section& root, Config& out);
void read_options(Section& section, TlsConfig& out);

}  // namespace stdgate::config
