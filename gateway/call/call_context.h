// CallContext: where a client's message comes from and where its answer goes. Made by transports.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/client_address.h"
#include "gateway/base/time.h"
#include "gateway/base/trace_context.h"
#include "gateway/observer.h"
#include "gateway/policy/principal.h"
#include "gateway/session/session_sink.h"

namespace stdgate::mcp {
struct ModernParams;
}

namespace stdgate::call {

struct CallContext {
  session::Caller caller;
  session::SessionId session;  // none: the message stands alone
  session::Tag tag = 0;
  Transport transport = Transport::rpc;
  std::optional<Era> era{};             // of the client; nothing: plain JSON-RPC
  uint64_t connection = 0;              // for the log
  const TraceContext* trace = nullptr;  // the caller's; null: none. Needed during the call only
  TimePoint arrived{};
  std::optional<Duration> timeout{};             // of a request; nothing: the upstream's
  const ClientAddress* client = nullptr;         // null: not known. Needed during the call only
  const policy::Principal* principal = nullptr;  // null: anonymous. Needed during the call only
  // Of the client, which pays for what is kept of the message; null: nothing is charged.
  Account* account = nullptr;
  // What is repeated of a message's arguments beside it, a line `NAME:VALUE` each (see
  // mcp::ParamFilter); nothing: this transport repeats none. Needed during the call only.
  std::optional<std::string_view> mirrored{};
  // Of a request of the modern era, whose transport has read them; null: it has not, or they are of
  // another message. Needed during the call only.
  const mcp::ModernParams* params = nullptr;
  bool is_own = false;        // the gateway asks for a session: it does not count as its client's
  bool wants_events = false;  // notifications that belong to the call go to ReplySink::on_event()
};

}  // namespace stdgate::call
