// The HTTP side of a fault: status and Retry-After. Its JSON-RPC side is append_fault_response().
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "gateway/rpc/fault.h"
#include "transports/http/response.h"

namespace stdgate::http {

// The fault that is nearest to an HTTP status: its code goes into the body.
inline rpc::Fault fault_of_status(int status) {
  switch (status) {
    case 401:
      return rpc::Fault::unauthenticated;
    case 413:
      return rpc::Fault::too_large;
    case 429:
      return rpc::Fault::rate_limited;
    case 500:
      return rpc::Fault::internal;
    case 503:
      return rpc::Fault::overloaded;
    default:
      return rpc::Fault::invalid_request;
  }
}

// Without a body. `retry_after` is a hint, zero for none.
inline Response fault_response(rpc::Fault fault, Duration retry_after) {
  Response response;
  response.status = rpc::fault_http_status(fault);
  response.retry_after = retry_after;
  if (fault == rpc::Fault::overloaded || fault == rpc::Fault::rate_limited ||
      fault == rpc::Fault::unrecorded) {
    response.retry_after = std::max(response.retry_after, rpc::kRetryHint);
  }
  return response;
}

// The JSON-RPC error of a fault as a body. `id`: see append_fault_response().
inline std::string fault_body(std::string_view id, const rpc::FaultReport& report,
                              rpc::CodeSet codes) {
  std::string body;
  rpc::append_fault_response(body, id, report, codes, false);
  body += '\n';
  return body;
}

// The JSON-RPC error that stands in the body of `error`, where refusals are such.
inline std::string json_rpc_error_body(const HttpError& error, rpc::CodeSet codes) {
  rpc::FaultReport report = rpc::faults::plain(fault_of_status(error.status));
  report.message = error.message;
  report.retry_after = error.retry_after;
  std::string body;
  rpc::append_fault_response(body, error.request_id, report, codes, false);
  return body;
}

}  // namespace stdgate::http
