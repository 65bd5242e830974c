// Responder: the client of one exchange, as endpoints see it: where the answer goes.
// Implemented by Connection.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gateway/pool/backend.h"
#include "transports/http/response.h"

namespace stdgate {

class Responder {
 public:
  virtual ~Responder() = default;

  // The context of a call of this exchange; nothing when no more origins can be registered.
  virtual std::optional<CallContext> call_context() = 0;

  // The whole answer, or an error in its place. Ends the exchange: nothing may follow.
  virtual void respond(const Response& response) = 0;
  virtual void fail(const HttpError& error) = 0;

  // An event stream of a backend: its head, then events, each the concatenation of `parts`, then
  // its end, which ends the exchange. A client that takes too little is dropped with what it has
  // not taken.
  virtual void begin_stream(BackendId backend) = 0;
  virtual void write_event(std::span<const std::string_view> parts) = 0;
  virtual void end_stream() = 0;
};

}  // namespace stdgate
