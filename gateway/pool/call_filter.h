// CallFilter: what a protocol has between clients and the children that they share: it sees
// requests on their way down, behind rules and limits, and results and the children's own messages
// on their way up, and may change them.
//
// Upwards it stands before the ChildListener that it is made with, and passes on to that. It holds
// no call; what it knows of one it knows by the call's end. Made by the dialect; owner: the
// backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/pool/child_listener.h"
#include "gateway/pool/dialect.h"
#include "gateway/session/session_sink.h"

namespace stdgate::pool {

class Pool;
struct PoolServices;

struct FilterServices {
  const PoolServices& services;
  Pool& pool;  // may not be constructed yet
  ChildListener& next;
  const Duration& input_timeout;  // may change
};

class CallFilter : public ChildListener {
 public:
  // A request of a client.
  struct Asked {
    const rpc::Envelope& request;
    std::string_view method;          // decoded
    const mcp::ModernParams* params;  // what a transport has read of it; null: nothing
    std::string_view identity;        // of who asks; empty: not known
    std::optional<Era> client_era;
    session::SessionId session;
  };
  // What becomes of it.
  struct Ruling {
    std::string text;                      // the request as a child is to get it
    uint64_t child = 0;                    // see Outgoing
    bool is_bound = false;                 // the same
    std::optional<Era> written_for{};      // the same
    uint64_t state = 0;                    // what it brings back, once it goes on; 0: nothing
    std::optional<call::Absence> error{};  // it ends so
    std::string_view detail;               // of the error, for the log
  };
  // Nothing: it goes on as it is.
  [[nodiscard]] virtual std::optional<Ruling> on_client_request(const Asked& asked) = 0;

  // The payload of a result, raw JSON, on its way to the client of `call`.
  struct Given {
    std::string_view method;  // decoded
    std::string_view payload;
    uint64_t child = 0;  // the number of the one that has given it; 0: no other call can reach it
  };
  // The payload for the client, or the error instead. Nothing: it goes on as it is.
  [[nodiscard]] virtual std::optional<tl::expected<std::string, call::Absence>> on_result(
      const call::Call& call, const Given& given) = 0;

  // The error for a request whose child has gone; nothing: any child may serve it.
  [[nodiscard]] virtual std::optional<call::Absence> error_of_lost(
      std::string_view method) const = 0;
  // The request of a call that listens, whose child has gone, for another one. Nothing: there is
  // nothing left to listen for.
  [[nodiscard]] virtual std::optional<std::string> listening_without(const call::Call& call) = 0;
  // A request goes on that brings this back (Ruling::state) to its child.
  virtual void note_returned(uint64_t child, uint64_t state) = 0;
  // A call that listens is about to be sent, and has ended.
  virtual void begin_listening(const call::Call& call) = 0;
  virtual void end_listening(const call::Call& call) = 0;

  // Whether a child that runs here has given out what this request brings back.
  [[nodiscard]] virtual bool gave(const Asked& asked) const = 0;
  // What the children have given out that clients may come back with.
  struct Work {
    size_t states = 0;  // of calls that wait for input of their clients
    size_t tasks = 0;
  };
  [[nodiscard]] virtual Work work_of(uint64_t child) const = 0;
};

}  // namespace stdgate::pool
