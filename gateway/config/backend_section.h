// The `backends` section: the stdio servers, their commands and their pools.
#pragma once

#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/section_reader.h"

namespace stdgate {

// `limits` must have been read before: a queue has to hold the largest message.
std::vector<BackendConfig> read_backends(const Value& value, const LimitsConfig& limits);

}  // namespace stdgate
