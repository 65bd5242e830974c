// The endpoints of plain JSON-RPC for one backend: POST /rpc, and GET /rpc/stream for EventSource;
// and the calls of one request to them, or of a modern one to /mcp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/backend/upstream.h"
#include "gateway/config/config.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/batch_answer.h"
#include "gateway/session/sinks.h"
#include "transports/http/exchange.h"
#include "transports/http/router.h"

namespace stdgate::http {

// RpcExchange: the calls of one HTTP request and what becomes of their answers.
//
// A single request is answered by one JSON response, a batch by one array, in whatever order its
// answers come; with events asked for, everything is written as events as it comes. A request of
// MCP's modern era is answered by one JSON response, or by events if some come before its answer.
// Owner: the Exchange, which may serve the next request when the call that ends it returns. An
// RpcExchange is one caller of the core until its client has left. Tag of a call: number of the
// request << 32 | index in the document. Limits: a batch's answer is at most `answer_limit` bytes
// plus one fault for each entry beyond.
class RpcExchange final : public ExchangeHandler, private session::ReplySink {
 public:
  static constexpr char kKind = 0;

  // Where the messages of a request go, and how they are read.
  struct Route {
    backend::Upstream& upstream;
    rpc::EnvelopeParser& parser;
    size_t answer_limit = 0;
    // Of MCP's modern era, from /mcp.
    bool is_modern = false;
    std::optional<std::string_view> mirrored{};  // see CallContext
    const call::KnownParams* params = nullptr;   // see CallContext
  };

  // Hands the messages of `text` to the upstream. Everything may have been answered when it
  // returns.
  void start(const Route& route, std::span<char> text, bool wants_events, Exchange& exchange);
  // Like start(), but for a text that has been parsed.
  void start(const Route& route, const rpc::Document& document, bool wants_events,
             Exchange& exchange);
  // Answers a request whose body was not read to its end.
  // `bytes`: of the text that is refused; 0: not known.
  void refuse(backend::Upstream& upstream, const rpc::FaultReport& report, size_t bytes,
              Exchange& exchange);

  // ExchangeHandler: its calls are cancelled
  void on_gone() override;
  void rest() override;
  void leave() override { caller_.release(); }

 private:
  // ReplySink
  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override;

  // Nothing when no more callers can be registered: the exchange has been answered.
  std::optional<call::CallContext> begin(Exchange& exchange);
  [[nodiscard]] bool is_of(session::Tag tag) const {
    return exchange_ != nullptr && tag >> 32 == number_;
  }
  void hand_over(backend::Upstream& upstream, const rpc::Document& document,
                 const call::CallContext& context);
  void finish_dispatch();
  void respond_single(const session::Reply& reply);
  void begin_stream();
  void write_event(std::span<const std::string_view> parts);
  void finish();

  session::CallerSlot caller_;    // none before the first call
  Exchange* exchange_ = nullptr;  // null: nothing under way
  BackendId backend_ = 0;
  uint32_t number_ = 0;  // of the request
  // Counts the requests given to the core and not answered; holds the answers of a batch.
  session::BatchAnswer answers_;
  bool batch_ = false;
  bool events_ = false;
  bool modern_ = false;
  bool refused_ = false;        // nothing was taken, for lack of room
  bool omits_version_ = false;  // the client does, and is answered so
};

class RpcEndpoint final : public Endpoint {
 public:
  RpcEndpoint(backend::Upstream& upstream, const config::LimitsConfig& limits);

  [[nodiscard]] AllowedMethods allowed_methods() const override { return AllowedMethods::post; }
  [[nodiscard]] rpc::CodeSet fault_codes() const override { return upstream_.codes(); }
  [[nodiscard]] const backend::Upstream* upstream() const override { return &upstream_; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;
  void refuse(Exchange& exchange, const rpc::FaultReport& report) override;

 private:
  backend::Upstream& upstream_;
  const config::LimitsConfig& limits_;
  rpc::EnvelopeParser parser_;
};

// ?method=…&params=…&id=… becomes the request that POST /rpc would take as JSON: `params` is JSON
// text, `id` (1 when absent) too, or a word, which becomes a string. Refused: a parameter that is
// there twice, and an id that looks like JSON and is no id.
class StreamEndpoint final : public Endpoint {
 public:
  StreamEndpoint(backend::Upstream& upstream, const config::LimitsConfig& limits);

  [[nodiscard]] const backend::Upstream* upstream() const override { return &upstream_; }
  std::optional<HttpError> admit(Exchange& exchange) override;
  void serve(Exchange& exchange, std::span<char> body) override;

 private:
  // Whether `text` is one JSON value that may stand where `request` has it.
  bool fits(std::string_view request, std::string_view text,
            std::string_view rpc::Envelope::*member);
  // Raw JSON; nothing: it is none.
  std::optional<std::string> id_of(std::string_view query);

  backend::Upstream& upstream_;
  const config::LimitsConfig& limits_;
  rpc::EnvelopeParser parser_;
  std::string request_;  // scratch
};

// Adds /<name>/rpc and /<name>/rpc/stream for each backend but language servers, and both at the
// root for the default one. `limits` and the backends outlive the router.
void add_rpc_routes(Router& router, const backend::Upstreams& backends,
                    const config::LimitsConfig& limits);

}  // namespace stdgate::http
