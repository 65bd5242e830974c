// What the keys of the whole configuration mean together.
#pragma once

#include <string>

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// `out` has been read from `root`; fills in what depends on other keys, and records errors.
void complete_config(const Section& root, Config& out);

}  // namespace stdgate::config
