// RequestLog: what is logged of requests before they are calls: a line at level debug for each, and
// the refusals, which are counted too.
//
// Owner: the server; one for all connections.
#pragma once

#include <cstdint>

#include "gateway/audit.h"
#include "gateway/base/client_address.h"
#include "gateway/base/log.h"
#include "gateway/observer.h"
#include "transports/http/exchange.h"
#include "transports/http/refusal_log.h"
#include "transports/http/response.h"

namespace stdgate::http {

class RequestLog {
 public:
  // `audit`: null: there is none.
  RequestLog(Log& log, Observer& observer, Audit* audit, const Clock& clock, TimerQueue& timers)
      : log_(log), observer_(observer), audit_(audit), refusals_(log, clock, timers) {}

  void note_request(const Exchange& exchange) {
    if (log_.enabled(LogLevel::debug)) trace(exchange);
  }
  // `response` refuses the request, whose head may not have been understood.
  void note_refusal(const Exchange& exchange, const Response& response);

 private:
  void trace(const Exchange& exchange);

  Log& log_;
  Observer& observer_;
  Audit* const audit_;
  RefusalLog refusals_;
};

}  // namespace stdgate::http
