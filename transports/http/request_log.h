// RequestLog: what is logged of requests before they are calls: a line at level debug for each, and
// the refusals, which are counted too.
//
// Owner: the server; one for all connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gateway/audit.h"
#include "gateway/base/addresses.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "transports/http/exchange.h"
#include "transports/http/response.h"

namespace stdgate::http {

// A refused request, with what its log line shows.
struct RefusedRequest {
  const ClientAddress& client;
  std::string_view principal = {};   // its name; empty: unknown
  std::string_view session_id = {};  // that it names, shown by its name in the log; empty: none
  uint64_t connection = 0;
  std::string_view method;  // empty: the head could not be read
  std::string_view path;    // as sent; empty: as above
  int status = 0;
  Refusal reason = Refusal::other;
  std::string_view detail;  // for people; may name the Host that was sent
};

// The log's lines about requests that were refused before they became calls.
//
// Clients can cause such lines at will, so at most kMaxLinesPerSecond are written, and one more
// line says how many were left out. The query is not logged, as it may hold secrets; nor are header
// fields, but for the name of the session that one names. Limits: a path is shown up to kMaxPath
// bytes, a method up to kMaxMethod.
class RefusalLog {
 public:
  static constexpr uint32_t kMaxLinesPerSecond = 10;
  static constexpr size_t kMaxPath = 256;
  static constexpr size_t kMaxMethod = 32;

  RefusalLog(Log& log, const Clock& clock, TimerQueue& timers)
      : log_(log), clock_(clock), timer_(timers, [this] { report_left_out(); }) {}

  void note(const RefusedRequest& request);

 private:
  void report_left_out();

  Log& log_;
  const Clock& clock_;
  RateLimit limit_{kMaxLinesPerSecond};
  Timer timer_;  // armed while something has been left out
};

class RequestLog {
 public:
  // `audit`: null without an audit.
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
