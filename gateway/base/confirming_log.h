// ConfirmingLog: a log that confirms what an operator has asked for.
#pragma once

#include "gateway/base/log.h"

namespace stdgate {

class ConfirmingLog : public Log {
 public:
  // As write(), but the line appears at every level of the log except `off`.
  virtual void confirm(LogLevel level, std::string_view event,
                       std::initializer_list<LogField> fields) = 0;
};

}  // namespace stdgate
