// Exchange: everything that exists per request only: head, body, calls.
//
// Taken from the server's free list with the first byte of a request, given back with the last of
// its answer, so that an idle connection is small.
#pragma once

#include <string>

#include "transports/http/body_reader.h"
#include "transports/http/request_head.h"
#include "transports/http/responder.h"
#include "transports/http/rpc_exchange.h"

namespace stdgate {

class Endpoint;

struct Exchange {
  // Valid while the head is handled: its views point into the bytes read.
  RequestHead head;
  HeadScanner scanner;
  BodyReader body;
  RpcExchange rpc;
  Responder* client = nullptr;
  Endpoint* endpoint = nullptr;    // once the request has been routed
  bool loopback_listener = false;  // it came in on a TCP listener of the loopback interface
  bool wants_events = false;       // as negotiated by the endpoint
  std::string trace_id;            // of the caller's trace; empty: none
  // How to answer.
  bool http_1_0 = false;
  bool head_only = false;
  bool keep_alive = false;

  void clear() {
    body.clear();
    rpc.clear();
    client = nullptr;
    endpoint = nullptr;
    trace_id.clear();
    loopback_listener = wants_events = http_1_0 = head_only = keep_alive = false;
  }
};

}  // namespace stdgate
