// SessionExchange: the response to a request of a session, of MCP or ACP, that the session writes:
// one JSON document, or a stream of its events.
//
// Owner: the Exchange. Knows the session by its id; detaches from it when the client goes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gateway/backend/upstream.h"
#include "gateway/session/sinks.h"
#include "transports/http/exchange.h"

namespace stdgate::http {

class SessionExchange : public session::EventSink, public ExchangeHandler {
 public:
  static constexpr char kKind = 0;

  // The session that writes the response.
  struct Source {
    const session::EventSources& sessions;
    std::string_view id;
    const backend::Upstream& backend;
    // Header lines that tell the client which session it has, unless the session has ended by then.
    std::string_view fields{};
  };
  // From here on the session may use the response.
  void start(const Source& source, Exchange& exchange);
  // The session has not taken it after all.
  void forget() { exchange_ = nullptr; }

  // EventSink
  void respond(std::span<const std::string_view> json) final;
  void respond_scope(std::span<const std::string_view> json, std::string_view scope) final;
  void begin_stream() final;
  void write_event(const session::StreamEvent& event) final;
  void end_stream() final;
  [[nodiscard]] bool is_backed_up() const final;
  // ExchangeHandler
  void on_writable() final;
  void on_gone() override;
  void rest() override { forget(); }
  void leave() override;

 private:
  [[nodiscard]] std::string_view head_fields() const;

  const session::EventSources* sessions_ = nullptr;
  Exchange* exchange_ = nullptr;  // null: over
  const backend::Upstream* backend_ = nullptr;
  std::string session_id_;
  std::string fields_;
};

// Answers with a fault as JSON-RPC, which has the HTTP status of the fault. `id` is raw JSON, or
// empty for null.
void refuse_call(Exchange& exchange, backend::Upstream& backend, const rpc::FaultReport& report,
                 std::string_view id, const call::CallContext& context);

}  // namespace stdgate::http
