// Exchange: everything that exists per request only: head, body, calls.
//
// Taken from the server's free list with the first byte of a request, given back with the last of
// its answer, so that an idle connection is small. What follows from the head and the listener
// alone is kept with the head: who repeats its header block is not judged again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transports/http/body_reader.h"
#include "transports/http/client_connection.h"
#include "transports/http/mcp_exchange.h"
#include "transports/http/request_head.h"
#include "transports/http/responder.h"
#include "transports/http/rpc_exchange.h"

namespace stdgate {

class Endpoint;

struct Exchange {
  explicit Exchange(StoragePool& storages) : body(storages) {}

  RequestHead head;
  HeadScanner scanner;
  BodyReader body;
  RpcExchange rpc;
  McpExchange mcp;
  Responder* client = nullptr;
  ExchangeOwner* owner = nullptr;                 // set by the endpoint, if it wants to be told
  std::unique_ptr<UpgradedConnection> successor;  // of the connection; null: HTTP goes on
  bool keep_alive = false;                        // after the answer

  // --- What follows from the head and the listener; see forget_judgement() ---
  bool admitted = false;           // by `endpoint`: all of this is known
  Endpoint* endpoint = nullptr;    // once the request has been routed
  bool loopback_listener = false;  // it came in on a TCP listener of the loopback interface
  bool http_1_0 = false;
  bool head_only = false;
  bool wants_events = false;  // as negotiated by the endpoint
  std::string trace_id;       // of the caller's trace; empty: none
  std::string cors_fields;    // header lines of every answer; for pages of other origins
  // What the head says to the endpoints of MCP sessions.
  std::string session_id;
  std::string last_event_id;
  bool version_known = false;

  uint32_t number = 0;  // see SpareExchanges; 0: one that is not kept

  // Before another head, or another listener, is answered.
  void forget_judgement() {
    admitted = loopback_listener = http_1_0 = head_only = wants_events = version_known = false;
    endpoint = nullptr;
    trace_id.clear();
    cors_fields.clear();
    session_id.clear();
    last_event_id.clear();
  }

  void clear() {
    head.forget_long_block();
    body.clear();
    rpc.clear();
    mcp.forget();
    client = nullptr;
    owner = nullptr;
    successor.reset();
    keep_alive = false;
  }
};

}  // namespace stdgate
