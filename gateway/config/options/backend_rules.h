// What the keys of a backend mean together: defaults that depend on its protocol, and rules across
// keys.
#pragma once

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// `out` has been read from `backend`; fills in what depends on other keys, and records errors.
void complete_backend(const Section& backend, const LimitsConfig& limits, BackendConfig& out);

}  // namespace stdgate::config
