// Exchange, the Codec that carries it, and the ExchangeHandler of its endpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/base/account.h"
#include "gateway/base/trace_context.h"
#include "gateway/call/call_context.h"
#include "gateway/policy/client.h"
#include "gateway/session/sinks.h"
#include "transports/auth/authenticator.h"
#include "transports/http/admission.h"
#include "transports/http/authentication.h"
#include "transports/http/client_connection.h"
#include "transports/http/request_head.h"
#include "transports/http/response.h"

namespace stdgate::http {

class Exchange;

// Codec: what carries exchanges: the connection of one version of HTTP, as its exchanges see it.
// Implemented by Http1Connection.
//
// A codec reads heads and bodies from its stream, makes an Exchange of each request, tells it what
// comes (Exchange, "For the codec"), and writes what it answers. Syntax, framing, the order of
// requests on a connection and its end are the codec's business alone; what a request means is not.
// A body is handed over whole, as a message is of no use before its end. All calls of one exchange
// come from the outermost level of the loop, from within a call of the core, or from within the
// codec's own calls of that exchange.
class Codec {
 public:
  virtual ~Codec() = default;

  // --- The response of an exchange, which is the codec's own
  // All of it, its body none to a HEAD. Ends the exchange.
  virtual void send(Exchange& exchange, const Response& response) = 0;
  // Its head; pieces of the body and end() follow, or abort().
  virtual void send_head(Exchange& exchange, const Response& response) = 0;
  virtual void send_piece(Exchange& exchange, std::span<const std::string_view> parts) = 0;
  // `is_last`: the client's connection is to end with it, where it serves one exchange at a time.
  virtual void end(Exchange& exchange, bool is_last) = 0;
  // The client takes too little for the rest: what is unsent is dropped, and Exchange::on_gone()
  // follows from the outermost level.
  virtual void abort(Exchange& exchange) = 0;

  // --- Back pressure
  // Bytes of the response that have not been sent.
  [[nodiscard]] virtual size_t unsent(const Exchange& exchange) const = 0;
  // So much that its source should wait, if it can; Exchange::on_writable() follows.
  [[nodiscard]] virtual bool is_backed_up(const Exchange& exchange) const = 0;

  // --- Another protocol in its place (RFC 9110 section 7.8)
  [[nodiscard]] virtual bool can_upgrade(const Exchange& exchange) const = 0;
  // Answers 101 with these header lines. `successor` then takes over the stream and the
  // connection's place in the server. Only if can_upgrade(), and from within Exchange::serve().
  virtual void upgrade(Exchange& exchange, std::string_view fields,
                       std::unique_ptr<UpgradedConnection> successor) = 0;

  // --- The client
  [[nodiscard]] virtual const Peer& peer() const = 0;
  // The identity that its certificate shows.
  [[nodiscard]] virtual const auth::Identity& certificate_identity() = 0;
  // The account that pays for the memory of an exchange, at its endpoint.
  [[nodiscard]] virtual Payer payer(const Exchange& exchange) const = 0;
  // The sender of an admitted request pays from now on. `held`: what is held at its endpoint; null:
  // nowhere in particular.
  virtual void charge(Exchange& exchange, HeldBytes* held) = 0;
};

class Endpoint;
class Server;

// The treatment of a client that takes an event stream too slowly.
enum class SlowClient : uint8_t {
  dropped,     // at limits.outbox, with what it has not taken
  waited_for,  // by the source, which looks at is_backed_up(); nothing else bounds what is unsent
};

// How a response begins that is a stream of events.
struct StreamStart {
  BackendId backend = 0;
  SlowClient slow_client = SlowClient::dropped;
  std::string_view more_fields{};  // see Response
};

enum class StreamEnd : uint8_t {
  done_event,  // a last event says [DONE]
  bare,
};

// Answers an exchange, now or later, and is told meanwhile what becomes of the client. Called from
// the outermost level of the loop, never from within a call of the core or on the exchange. Owner:
// the exchange, which keeps it for the next request that is answered by one of its kind.
class ExchangeHandler {
 public:
  virtual ~ExchangeHandler() = default;
  // The unsent bytes have been taken: is_backed_up() has become false, if it was true.
  virtual void on_writable() {}
  // The client has left, or the connection closes: nothing can be answered any more. Not after what
  // has ended the exchange (respond(), fail(), end_stream()).
  virtual void on_gone() = 0;
  // The exchange is over, or on_gone() has been called.
  virtual void rest() = 0;
  // The next request, if any, is another client's.
  virtual void leave() {}
};

// Exchange: one request and its response, on whatever codec; endpoints see nothing else of a
// client.
//
// The codec passes requests in, and sends the answers. The meaning of a request, its permissions,
// refusals, event streams and their deadlines are handled here and in RequestRouting, for every
// codec alike. The state of an endpoint for a request is its ExchangeHandler.
//
// Owner: a codec, which reuses it for the next request of the same connection. So facts that follow
// from the head and the present rules are kept: a repeated head is not judged again, and its sender
// is not authenticated again while the result holds. Rates are not counted here. Another connection
// may get the exchange after this one (leave(), serve_for()): a head without credentials and its
// judgement stay, but nothing that is known about the client. Limits: kMaxParts; limits.outbox of
// unsent bytes for streams whose source cannot wait.
class Exchange {
 public:
  static constexpr size_t kMaxParts = 8;  // of a body, or of an event's data

  // All outlive it.
  Exchange(Server& server, Codec& codec, const RequestHead& request_head)
      : head(request_head), server_(server), codec_(&codec) {}
  ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const RequestHead& head;

  // --- For endpoints: the answer
  // The whole answer, or an error in its place. Ends the exchange: nothing may follow.
  void respond(const Response& response);
  void respond(Response response, std::string_view body);
  void fail(const HttpError& error);
  // An event stream of a backend: its head, then events, then its end, which ends the exchange.
  // While it is silent, comments are written (timeouts.keep_alive).
  void begin_stream(const StreamStart& start);
  // The answer becomes such a stream if none is given before timeouts.keep_alive, so that proxies
  // do not close the connection. `start` has no more_fields.
  void may_stream(const StreamStart& start) { may_stream_ = start; }
  [[nodiscard]] bool is_streaming() const { return is_streaming_; }
  void write_event(const session::StreamEvent& event);
  void end_stream(StreamEnd end);
  // So much is unsent that its source should wait, if it can; ExchangeHandler::on_writable()
  // follows.
  [[nodiscard]] bool is_backed_up() const { return codec_->is_backed_up(*this); }
  // See Codec.
  [[nodiscard]] bool can_upgrade() const { return codec_->can_upgrade(*this); }
  void upgrade(std::string_view fields, std::unique_ptr<UpgradedConnection> successor);

  // --- For endpoints: the request
  // The handler of this exchange from now on. Reuses the former handler if it is of the same type.
  // The address of the static member kKind identifies the type.
  template <class Handler>
  Handler& handler();
  // The context of a message in this exchange, without caller, session and tag.
  [[nodiscard]] call::CallContext call_context() const;
  // Who has sent the request, and pays for what it leaves behind.
  [[nodiscard]] policy::Client sender() const;
  // The line of WWW-Authenticate that says which scopes a call needs (RFC 6750 section 3.1).
  [[nodiscard]] std::string scope_challenge(std::string_view scope) const;
  [[nodiscard]] Server& server() const { return server_; }
  [[nodiscard]] uint64_t connection_number() const { return codec_->peer().number; }
  // The client's address; once the head has come, as trusted proxies say.
  [[nodiscard]] const ClientAddress& client() const {
    return has_head_ ? origin : codec_->peer().client;
  }
  [[nodiscard]] const auth::Identity& certificate_identity() const {
    return codec_->certificate_identity();
  }
  // The account that pays for the memory of the exchange, at its endpoint.
  [[nodiscard]] Payer payer() const { return codec_->payer(*this); }
  // `head` is this request's.
  [[nodiscard]] bool has_head() const { return has_head_; }
  // Of the body that is served; 0: none, or it is refused.
  [[nodiscard]] size_t body_bytes() const { return body_bytes_; }
  [[nodiscard]] bool is_head_request() const { return has_head_ && head.method() == Method::head; }

  // --- For the codec
  // The exchange is open from the first byte of a request to the end of its answer.
  void begin() { is_open_ = true; }
  [[nodiscard]] bool is_open() const { return is_open_; }
  // Before a head is read that is not the one before.
  void forget_judgement();
  // The head has come. False: it has been answered.
  [[nodiscard]] bool admit();
  // The body has come, which may be changed and is valid during the call only. Everything may have
  // been answered when it returns.
  void serve(std::span<char> body);
  // The body cannot be taken.
  void refuse(const rpc::FaultReport& report);
  void on_writable();
  // The client has left, or the connection closes.
  void on_gone();
  // The exchange is over, and the next request may come.
  void rest();
  // The connection has ended. Only after rest(), from the outermost level of the loop.
  void leave();
  // After leave(): the next requests come from `codec`.
  void serve_for(Codec& codec) { codec_ = &codec; }
  // When on_due() is to be called; max(): never.
  [[nodiscard]] TimePoint due() const;
  void on_due();
  // The credential is not good any more: a stream ends, a call that is answered once goes on.
  void end_credential() {
    if (is_streaming_) cut();
  }

  // --- For routing: who sends it
  auth::Identity identity;  // of the sender
  // The identity of the sender, or the error, if routing needed it. Kept for admission, so that a
  // signature is checked only once.
  std::optional<tl::expected<auth::Identity, IdentityError>> found;
  // `identity` holds for every request with this head while the authentication has this revision.
  // 0: for this request only.
  uint32_t identity_revision = 0;

  // --- For routing: what follows from the head and the rules; see forget_judgement()
  uint32_t epoch = 0;     // epoch of the rules that led to `admitted`
  bool admitted = false;  // by `endpoint`; the members below hold
  // Set by routing. May dangle if `epoch` is not the present one.
  Endpoint* endpoint = nullptr;
  Guards guards;              // of the route
  ConnectionTraits traits;    // of its connection, as trusted proxies say
  ClientAddress origin;       // of the client, as they say
  bool wants_events = false;  // as negotiated by the endpoint
  TraceContext trace;         // of the caller
  std::string cors_fields;    // header lines of every answer; for pages of other origins
  std::string session_id;     // that the head names, as its endpoint reads it

 private:
  void write_frame(const session::StreamEvent& event);
  void look_at_client();
  void cut();
  void release_endpoint();
  [[nodiscard]] TimePoint now() const;

  Server& server_;
  Codec* codec_;
  bool knows_client_ = false;          // `origin` and `traits` are of the codec's client
  std::shared_ptr<Endpoint> serving_;  // `endpoint`, from admission to the end
  std::unique_ptr<ExchangeHandler> handler_;
  const void* handler_kind_ = nullptr;
  TimePoint since_{};  // the last word to the client, or the beginning
  std::optional<StreamStart> may_stream_;
  BackendId stream_backend_ = 0;
  size_t body_bytes_ = 0;
  SlowClient slow_client_ = SlowClient::dropped;  // of the stream
  bool is_handled_ = false;                       // by `handler_`
  bool is_open_ = false;
  bool has_head_ = false;
  bool is_streaming_ = false;  // the head of an event stream has been written
  bool is_aborted_ = false;    // nothing can be sent any more
};

template <class Handler>
Handler& Exchange::handler() {
  if (handler_kind_ != &Handler::kKind) {
    handler_ = std::make_unique<Handler>();
    handler_kind_ = &Handler::kKind;
  }
  is_handled_ = true;
  return static_cast<Handler&>(*handler_);
}

}  // namespace stdgate::http
