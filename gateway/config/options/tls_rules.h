// What the keys of `tls` mean together.
#pragma once

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// `out` has been read from `section`; fills in what depends on other keys, and records errors.
void complete_tls(const Section& section, TlsConfig& out);

}  // namespace stdgate::config
