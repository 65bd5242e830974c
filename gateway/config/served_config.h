// All that a configuration serves, as if it were backends alone.
#pragma once

#include <vector>

#include "gateway/config/config.h"

namespace stdgate::config {

// The backends, and what stands for each virtual server.
std::vector<BackendConfig> all_that_is_served(const Config& config);

}  // namespace stdgate::config
