// ResponseWriter: responses and event streams of one connection, written to its stream.
//
// Job: the head of each response with the fields that every one has, its body, and the events of a
// stream in their framing. What the end of a response means for the connection is the connection's
// business. Owner: a connection. Limits: kMaxParts; limits.outbox of unsent bytes for streams whose
// source cannot wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "gateway/observer.h"
#include "transports/http/connection_meter.h"
#include "transports/http/exchange.h"
#include "transports/http/responder.h"
#include "transports/http/response.h"
#include "transports/net/stream.h"

namespace stdgate::http {

class Server;

class ResponseWriter {
 public:
  static constexpr size_t kMaxParts = 8;  // of a body, or of an event's data

  ResponseWriter(Server& server, ConnectionMeter& meter) : server_(server), meter_(meter) {}

  // To be called first; `stream` outlives the use of the writer.
  void open(net::Stream& stream) { stream_ = &stream; }

  void write_continue();
  void write_switch(std::string_view fields);
  // Whether the connection has to be closed behind it.
  [[nodiscard]] bool respond(const Exchange& exchange, const Response& response);

  void begin_stream(Exchange& exchange, const StreamStart& start);
  // False: the client takes too little; nothing has been written.
  [[nodiscard]] bool write_event(const Exchange& exchange, const session::StreamEvent& event);
  void write_keep_alive(const Exchange& exchange);
  // Whether the connection has to be closed behind it.
  [[nodiscard]] bool end_stream(const Exchange& exchange, StreamEnd end);
  [[nodiscard]] bool is_streaming() const { return streaming_; }

 private:
  [[nodiscard]] ResponseFrame frame(const Exchange& exchange) const;
  void write(std::span<const std::string_view> parts);
  void write_frame(const Exchange& exchange, const session::StreamEvent& event);

  Server& server_;
  ConnectionMeter& meter_;
  net::Stream* stream_ = nullptr;
  BackendId stream_backend_ = 0;
  SlowClient slow_client_ = SlowClient::dropped;  // of the stream
  bool streaming_ = false;                        // the head of an event stream has been written
};

}  // namespace stdgate::http
