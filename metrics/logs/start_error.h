// StartError: the words of a program that cannot start, on stderr: as text, or, where the log is to
// be JSON, as lines of level error, as nothing but JSON may be written then. The configured level
// does not hide them: otherwise the reason would be lost.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gateway/config/config.h"

namespace stdgate::logs {

// `text`: lines, each with its end. As JSON each is one line, an `event` with the field "error";
// for the journal each has its priority. `environment`: the program's own.
void write_start_error(config::LogFormat format, std::string_view event, std::string_view text,
                       const std::map<std::string, std::string>& environment);

}  // namespace stdgate::logs
