// Dialect: what a protocol adds to plain JSON-RPC 2.0: which ids and tokens inside of payloads are
// rewritten, how a child is greeted, how a call is cancelled.
//
// Stateless; one per backend, owned by it. Every other file of the core is free of protocol names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/observer.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"

namespace stdgate {

// Why the gateway gives up a call that a child is working on.
enum class CancelReason : uint8_t { client_cancelled, client_left, deadline };
std::string_view cancel_reason_text(CancelReason reason);

// What a client's message asks for, as far as the protocol has an opinion.
struct ClientIntent {
  enum class Kind : uint8_t {
    forward,
    cancel,     // a notification that cancels the call with the raw id `cancelled_id`
    handshake,  // a request whose answer the child gave to the gateway's own handshake
    swallow,    // a notification that the gateway has sent to the child itself already
  };
  Kind kind = Kind::forward;
  std::string_view cancelled_id;
  std::string_view progress_token;  // raw value inside of params; empty: none
};

class Dialect {
 public:
  virtual ~Dialect() = default;

  [[nodiscard]] virtual CodeSet codes() const = 0;
  // Method names that the protocol defines; they get metric labels from the start.
  [[nodiscard]] virtual std::span<const std::string_view> known_methods() const { return {}; }

  // The request that greets a new child before it gets calls; empty: it is ready when it runs.
  [[nodiscard]] virtual std::string handshake(WireId /*id*/) const { return {}; }
  // Judges the child's answer: the notification that completes the handshake, or why it failed.
  [[nodiscard]] virtual tl::expected<std::string, std::string> finish_handshake(
      const Envelope& /*answer*/) const {
    return {};
  }

  // `method` is decoded. An error is a constant phrase: the message is an invalid request.
  [[nodiscard]] virtual tl::expected<ClientIntent, const char*> read_client(
      const Envelope& message, std::string_view method) const = 0;

  // The notification that cancels `id` at the child; empty: the child is not told.
  [[nodiscard]] virtual std::string cancel(WireId id, CancelReason reason) const = 0;

  // The progress token, raw and inside of `notification.text`, by which a child's notification
  // names the call that it belongs to; empty: it names none.
  [[nodiscard]] virtual std::string_view progress_token(const Envelope& /*notification*/,
                                                        std::string_view /*method*/) const {
    return {};
  }

  // The result (raw JSON) with which the gateway itself answers a child's request; empty: nobody
  // does.
  [[nodiscard]] virtual std::string_view answer_child(std::string_view /*method*/) const {
    return {};
  }

  // How a call ended that the child answered.
  [[nodiscard]] virtual Outcome outcome(const Envelope& answer, std::string_view method) const;
};

}  // namespace stdgate
