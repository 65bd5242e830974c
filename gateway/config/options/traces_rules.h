// What the keys of `traces` mean together.
#pragma once

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// `out` has been read from `section`; fills in what depends on other keys, and records errors.
void complete_traces(const Section& section, TracesConfig& out);

}  // namespace stdgate::config
