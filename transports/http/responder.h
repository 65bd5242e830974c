// Responder: the client of one exchange, as endpoints see it: where the answer goes.
// Implemented by Connection.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/call/call_context.h"
#include "gateway/session/event_sink.h"
#include "transports/auth/identity.h"
#include "transports/http/client_connection.h"
#include "transports/http/response.h"

namespace stdgate::http {

class Server;

// What becomes of a client that takes an event stream too slowly.
enum class SlowClient : uint8_t {
  dropped,     // at limits.outbox, with what it has not taken
  waited_for,  // by the source, which looks at is_backed_up(); nothing else bounds what is unsent
};

struct StreamStart {
  BackendId backend = 0;
  SlowClient slow_client = SlowClient::dropped;
  std::string_view more_fields{};  // see Response
};

enum class StreamEnd : uint8_t {
  done_event,  // a last event says [DONE]
  bare,
};

// Answers an exchange later, and is told meanwhile what becomes of the client (Exchange::owner).
// Called from the outermost level of the loop, never from within a call of the core or on the
// Responder.
class ExchangeOwner {
 public:
  virtual ~ExchangeOwner() = default;
  // What was unsent has been taken: is_backed_up() has become false, if it was true.
  virtual void on_writable() = 0;
  // The client has left, or the connection closes: nothing can be answered any more. Once, before
  // the exchange is given back; not after what has ended the exchange (respond(), fail(),
  // end_stream()).
  virtual void on_gone() = 0;
};

class Responder {
 public:
  virtual ~Responder() = default;

  // The context of a call of this exchange; nothing when no more callers can be registered.
  virtual std::optional<call::CallContext> call_context() = 0;

  // The whole answer, or an error in its place. Ends the exchange: nothing may follow.
  virtual void respond(const Response& response) = 0;
  virtual void fail(const HttpError& error) = 0;

  // An event stream of a backend: its head, then events, then its end, which ends the exchange.
  // While it is silent, comments are written (timeouts.keep_alive).
  virtual void begin_stream(const StreamStart& start) = 0;
  virtual void write_event(const session::StreamEvent& event) = 0;
  virtual void end_stream(StreamEnd end) = 0;
  // So much is unsent that its source should wait, if it can; ExchangeOwner::on_writable() follows.
  [[nodiscard]] virtual bool is_backed_up() const = 0;

  // The line of WWW-Authenticate that says which scopes a call needs (RFC 6750 section 3.1).
  [[nodiscard]] virtual std::string scope_challenge(std::string_view scope) = 0;

  // For another protocol on the same connection (RFC 9110 section 7.8). Only from within
  // Endpoint::serve(): answers 101 with these header lines; `successor` then takes over the stream
  // and the connection's place in the server.
  virtual void upgrade(std::string_view fields, std::unique_ptr<UpgradedConnection> successor) = 0;
  virtual Server& server() = 0;
  [[nodiscard]] virtual uint64_t connection_number() const = 0;  // for the log
  [[nodiscard]] virtual const ClientAddress& client_address() const = 0;
  // Who the connection's certificate says that it is.
  [[nodiscard]] virtual const auth::Identity& connection_identity() = 0;
  // Who pays for what is kept of the exchange, at its endpoint.
  [[nodiscard]] virtual Payer payer() const = 0;
};

}  // namespace stdgate::http
