// Where a value of the configuration stands in its file, found by its path: for what is wrong with
// it that shows only when it is used, after the file has been read.
#pragma once

#include <string>
#include <vector>

#include "gateway/config/config_parser.h"

namespace stdgate::config {

// Gives each error without a line that of its path in `yaml`: of the value, or of the nearest thing
// around it that stands there; none where the file does not have the first key of the path.
void place_errors(const std::string& yaml, std::vector<ConfigError>& errors);

}  // namespace stdgate::config
