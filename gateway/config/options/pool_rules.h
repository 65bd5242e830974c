// Rules across the keys of backends.<name>.pool, and what they have to do with other sections.
#pragma once

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate::config {

// `lanes_known`: protocol and isolation could be read, so the pool can be checked against them.
void check_pool(const Section& pool, const LimitsConfig& limits, bool lanes_known,
                const BackendConfig& backend);

}  // namespace stdgate::config
