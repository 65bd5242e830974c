// Rules across the keys of the whole configuration.
#pragma once

#include <string>

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// Rules between the keys of `traces`.

// `out` has been read from `section`; fills in what depends on other keys, and records errors.
void complete_traces(const Section& section, TracesConfig& out);

// Rules between the keys of `tls`.

// `out` has been read from `section`; fills in what depends on other keys, and records errors.
void complete_tls(const Section& section, TlsConfig& out);

// `out` has been read from `root`; fills in what depends on other keys, and records errors.
void complete_config(const Section& root, Config& out);

}  // namespace stdgate::config
