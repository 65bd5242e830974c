// Exchange: one HTTP request and its answer: head, body, calls.
//
// Taken from the server's free list with the first byte of a request, given back with the last of
// its answer, so that an idle connection is small. What follows from the head and the AdmissionKey
// alone is kept with the head: a repeated header block is not judged again. A head with credentials
// is kept by its connection alone (OwnExchange), and with it who was found to send it, for as long
// as that holds. Nothing of a sender is kept in what other connections may get, and how often he
// has called is kept nowhere here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gateway/base/trace_context.h"
#include "gateway/mcp/modern_request.h"
#include "gateway/policy/rate_window.h"
#include "transports/auth/identity.h"
#include "transports/http/admission.h"
#include "transports/http/authentication.h"
#include "transports/http/body_reader.h"
#include "transports/http/client_connection.h"
#include "transports/http/mcp_exchange.h"
#include "transports/http/request_head.h"
#include "transports/http/responder.h"
#include "transports/http/rpc_exchange.h"

namespace stdgate::http {

class Endpoint;

struct Exchange {
  explicit Exchange(StoragePool& storages) : body(storages) {}

  RequestHead head;
  HeadScanner scanner;
  BodyReader body;
  RpcExchange rpc;
  McpExchange mcp;
  Responder* client = nullptr;
  ExchangeOwner* owner = nullptr;                 // set by whoever answers later
  std::unique_ptr<UpgradedConnection> successor;  // of the connection; null: HTTP goes on
  bool keep_alive = false;                        // after the answer
  TimePoint body_since{};                         // the end of the head
  policy::RateWindow body_rate;
  bool has_head = false;    // `head` is this request's
  auth::Identity identity;  // of who sends this request
  // What was found of him, where that was asked before the route: a signature is judged once.
  std::optional<tl::expected<auth::Identity, IdentityError>> found;
  // Of the authentication, under which `identity` is true of each request with this head; 0: it is
  // of this request only.
  uint32_t identity_revision = 0;
  ClientAddress origin;  // of the client, as trusted proxies say; with a head only

  // --- What follows from the head and `key`; see forget_judgement() ---
  AdmissionKey key;              // that `admitted` was found for
  bool admitted = false;         // by `endpoint`: all of this is known
  Endpoint* endpoint = nullptr;  // once the request has been routed
  Guards guards;                 // of the route
  bool http_1_0 = false;
  bool head_only = false;
  bool wants_events = false;  // as negotiated by the endpoint
  TraceContext trace;         // of the caller
  std::string cors_fields;    // header lines of every answer; for pages of other origins
  // What the head says to the endpoints of MCP sessions.
  std::string session_id;
  std::string last_event_id;
  bool version_known = false;
  // What the head says to MCP's modern era: views into it; and the fields that repeat arguments.
  mcp::ModernHeaders modern;
  std::string mirrored;
  // The identity and its revision of the last request with this head, of the same connection.
  auth::Identity known;
  uint32_t known_revision = 0;  // 0: nobody is known

  mcp::MetaMemory meta;  // of the last modern request

  uint32_t number = 0;  // see SpareExchanges; 0: one that is not kept

  // Called before a different head, or the same under another key, is answered.
  void forget_judgement() {
    admitted = http_1_0 = head_only = wants_events = version_known = false;
    endpoint = nullptr;
    trace.clear();
    cors_fields.clear();
    session_id.clear();
    last_event_id.clear();
    modern = {};
    mirrored.clear();
    known = {};
    known_revision = 0;
  }

  // For any connection.
  void clear() {
    if (head.has_credentials()) {
      head.wipe();
      forget_judgement();
      meta.forget();
    }
    known = {};
    known_revision = identity_revision = 0;
    rest();
  }

  // For the next request of the same connection.
  void rest() {
    if (identity_revision != 0) {
      known = std::move(identity);
      known_revision = std::exchange(identity_revision, 0);
    }
    head.forget_long_block();
    body.clear();
    rpc.clear();
    mcp.forget();
    client = nullptr;
    owner = nullptr;
    successor.reset();
    keep_alive = has_head = false;
    identity = {};
    found.reset();
  }
};

}  // namespace stdgate::http
