// LogFormatHint: the log format in which the errors of a configuration are reported.
#pragma once

#include <string>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::config {

// json if the settings, or else the file, say so as far as they can be read; text otherwise.
LogFormat log_format_hint(const std::string& yaml, const std::vector<Setting>& settings);

}  // namespace stdgate::config
