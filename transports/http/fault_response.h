// The HTTP side of a fault: status and Retry-After. Its JSON-RPC side is append_fault_response().
#pragma once

#include <algorithm>

#include "gateway/rpc/fault.h"
#include "transports/http/response.h"

namespace stdgate {

// When nobody knows better.
inline constexpr Duration kDefaultRetry = std::chrono::seconds(1);

// Without a body. `retry_after` is a hint, zero for none.
inline Response fault_response(Fault fault, Duration retry_after) {
  Response response;
  response.status = fault_http_status(fault);
  response.retry_after = retry_after;
  if (fault == Fault::overloaded || fault == Fault::rate_limited) {
    response.retry_after = std::max(response.retry_after, kDefaultRetry);
  }
  return response;
}

}  // namespace stdgate
