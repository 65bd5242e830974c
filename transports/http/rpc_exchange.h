// RpcExchange: the calls of one HTTP request and what becomes of their answers.
//
// A single request is answered by one JSON response, a batch by one array, in whatever order its
// answers come; with events asked for, everything is written as events as it comes. A request of
// MCP's modern era is answered by one JSON response, or by events if some come before its answer.
// Owner: the Exchange, reused; it may be gone when the Responder call that ends it returns. Tag of
// a call: exchange sequence << 32 | index in the document. Limits: a batch's answer is at most
// `answer_limit` bytes plus one fault for each entry beyond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/backend/upstream.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/batch_answer.h"
#include "transports/http/responder.h"

namespace stdgate::http {

class RpcExchange {
 public:
  struct Route {
    backend::Upstream& upstream;
    rpc::EnvelopeParser& parser;
    size_t answer_limit = 0;
    // Of MCP's modern era, from /mcp.
    bool is_modern = false;
    std::optional<std::string_view> mirrored{};  // see CallContext
    const mcp::ModernParams* params = nullptr;   // see CallContext
  };

  // Hands the messages of `text` to the upstream. Everything may have been answered when it
  // returns.
  void start(const Route& route, std::span<char> text, bool wants_events, Responder& client);
  // The same for a text that has been read.
  void start(const Route& route, const rpc::Document& document, bool wants_events,
             Responder& client);
  // Answers a request whose body was not read to its end.
  void refuse(backend::Upstream& upstream, const rpc::FaultReport& report, Responder& client);

  // Of the core, passed on by the connection.
  void on_reply(session::Tag tag, const session::Reply& reply);
  void on_event(session::Tag tag, std::string_view notification);
  void on_cancelled(session::Tag tag);

  // A request of MCP's modern era has had no word yet: as a stream its response gets keep-alive
  // comments, so that proxies do not close it.
  [[nodiscard]] bool is_silent() const { return modern_ && client_ != nullptr && !streaming_; }
  void end_silence() {
    if (is_silent()) begin_stream();
  }

  [[nodiscard]] bool calls_under_way() const { return answers_.due() > 0; }
  void clear();

 private:
  void hand_over(backend::Upstream& upstream, const rpc::Document& document,
                 const call::CallContext& context);
  void finish_dispatch();
  void respond_single(const session::Reply& reply);
  void begin_stream();
  void write_event(std::span<const std::string_view> parts);
  void finish();

  Responder* client_ = nullptr;  // null: nothing under way
  BackendId backend_ = 0;
  session::Tag first_tag_ = 0;
  // Counts the requests given to the core and not answered; holds the answers of a batch.
  session::BatchAnswer answers_;
  bool batch_ = false;
  bool events_ = false;
  bool modern_ = false;
  bool streaming_ = false;  // the head of the stream has been written
  bool refused_ = false;    // nothing was taken, for lack of room
};

}  // namespace stdgate::http
