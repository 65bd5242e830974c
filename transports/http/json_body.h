// Whether a request's head announces what JSON-RPC endpoints take as a body.
#pragma once

#include <optional>

#include "transports/http/request_head.h"
#include "transports/http/response.h"

namespace stdgate::http {

// 415 for a Content-Type that is not JSON, or none, and for a body that is encoded.
std::optional<HttpError> check_json_body(const RequestHead& head);

}  // namespace stdgate::http
