// Writes the log line, at level debug, about a message that is dropped.
#pragma once

#include <string_view>

#include "gateway/base/log.h"
#include "gateway/observer.h"

namespace stdgate::call {

inline void trace_dropped(Log& log, std::string_view backend, DropReason reason) {
  log.write(LogLevel::debug, "message dropped",
            {{"backend", backend}, {"reason", drop_reason_name(reason)}});
}

}  // namespace stdgate::call
