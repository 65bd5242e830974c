// RefusalLog: the log's lines about requests that were refused before they became calls.
//
// Clients can cause such lines at will, so at most kMaxLinesPerSecond are written, and one more
// line says how many were left out. The query is not logged, as it may hold secrets; nor are header
// fields, but for the name of the session that one names.
// Owner: the server. Limits: a path is shown up to kMaxPath bytes, a method up to kMaxMethod.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gateway/base/client_address.h"
#include "gateway/base/log.h"
#include "gateway/base/rate_limit.h"
#include "gateway/base/timers.h"
#include "gateway/observer.h"

namespace stdgate::http {

struct RefusedRequest {
  const ClientAddress& client;
  std::string_view principal = {};   // its name; empty: nobody is known
  std::string_view session_id = {};  // that it names, of which the log shows the name; empty: none
  uint64_t connection = 0;
  std::string_view method;  // empty: the head could not be read
  std::string_view path;    // as sent; empty: as above
  int status = 0;
  Refusal reason = Refusal::other;
  std::string_view detail;  // for people; may name the Host that was sent
};

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

}  // namespace stdgate::http
