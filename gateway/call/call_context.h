// CallContext: where a client's message comes from, and where its answer goes. Made by transports.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/base/time.h"
#include "gateway/base/trace_context.h"
#include "gateway/observer.h"
#include "gateway/policy/client.h"
#include "gateway/session/sinks.h"

namespace stdgate::call {

// Params of a message, as far as a transport has read them already. The protocol of the message
// knows the type.
struct KnownParams {};

struct CallContext {
  session::Caller caller;
  session::SessionId session;  // none: the message stands alone
  session::Tag tag = 0;
  Transport transport = Transport::rpc;
  std::optional<PeerKind> peer_kind{};  // of the client; nothing: plain JSON-RPC
  uint64_t connection = 0;              // for the log
  const TraceContext* trace = nullptr;  // the caller's; null: none. Valid during the call only
  TimePoint arrived{};
  std::optional<Duration> timeout{};             // of a request; nothing: the upstream's
  const ClientAddress* client = nullptr;         // null: not known. Valid during the call only
  const policy::Principal* principal = nullptr;  // null: anonymous. Valid during the call only
  // The account of the client, which pays for what is kept of the message; null: none.
  Account* account = nullptr;
  // The arguments that the client repeats outside the message, a line `NAME:VALUE` each. Nothing:
  // this transport has no such copies. Valid during the call only.
  std::optional<std::string_view> mirrored{};
  // Null: the transport has read none, or those of another message. Valid during the call only.
  const KnownParams* params = nullptr;
  bool is_own = false;  // the gateway asks on behalf of a session: no limit of the client counts it
  bool is_of_server = false;  // by a virtual server: its client can open no session here
  bool wants_events = false;  // notifications of the call go to ReplySink::on_event()
};

}  // namespace stdgate::call
