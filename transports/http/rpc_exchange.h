// RpcExchange: the calls of one HTTP request and what becomes of their answers.
//
// A single request is answered by one JSON response, a batch by one array, in whatever order its
// answers come; with events asked for, everything is written as events as it comes.
// Owner: the exchange, reused; it may be gone when the Responder call that ends it returns. Tag of
// a call: exchange sequence << 32 | index in the document. Limits: a batch's answer is at most
// `answer_limit` bytes plus one fault for each entry beyond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "gateway/pool/backend.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/batch_answer.h"
#include "transports/http/responder.h"

namespace stdgate {

class RpcExchange {
 public:
  struct Route {
    Backend& backend;
    EnvelopeParser& parser;
    size_t answer_limit = 0;
  };

  // Hands the messages of `text` to the backend. Everything may have been answered when it returns.
  void start(const Route& route, std::span<char> text, bool wants_events, Responder& client);
  // Answers a request whose text never was read whole.
  void refuse(Backend& backend, const FaultReport& report, Responder& client);

  // Of the core, passed on by the connection.
  void on_reply(Tag tag, const Reply& reply);
  void on_event(Tag tag, std::string_view notification);
  void on_cancelled(Tag tag);

  [[nodiscard]] bool calls_under_way() const { return answers_.due() > 0; }
  void clear();

 private:
  void dispatch(Backend& backend, const Document& document, CallContext context);
  void finish_dispatch();
  void respond_single(const Reply& reply);
  void begin_stream();
  void write_event(std::span<const std::string_view> parts);
  void finish();

  Responder* client_ = nullptr;  // null: nothing under way
  BackendId backend_ = 0;
  Tag first_tag_ = 0;
  // Counts the requests given to the core and not answered; holds the answers of a batch.
  BatchAnswer answers_;
  bool batch_ = false;
  bool events_ = false;
  bool streaming_ = false;  // the head of the stream has been written
  bool delivered_ = false;  // some message without an answer was taken
  bool refused_ = false;    // some notification was not, for lack of room
};

}  // namespace stdgate
