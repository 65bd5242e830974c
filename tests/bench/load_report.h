// The one line of JSON that a run of the load generator prints.
#pragma once

#include <string>

#include "tests/bench/load_options.h"
#include "tests/bench/load_run.h"

namespace stdgate::bench {

std::string report_line(const LoadOptions& options, const LoadResult& result);

}  // namespace stdgate::bench
