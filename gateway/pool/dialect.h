// Dialect: what a protocol adds to JSON-RPC. JsonRpcDialect: the dialect of plain JSON-RPC.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/call/call_context.h"
#include "gateway/call/filter.h"
#include "gateway/call/insertion.h"
#include "gateway/call/protocol.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/policy/rules.h"
#include "gateway/pool/child_facts.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/log_verbosity.h"

namespace stdgate::backend {
struct BridgeParts;
}  // namespace stdgate::backend

namespace stdgate::pool {

class Bridge;

// Why the gateway gives up a call that a child is working on.
enum class CancelReason : uint8_t { client_cancelled, client_left, deadline };
std::string_view cancel_reason_text(CancelReason reason);

// The promises that a child's answer to the greeting makes to the client of its session.
struct GreetingTerms {
  std::string revision;  // of the protocol
  uint64_t digest = 0;   // of everything else that the client may rely on
  uint8_t lists = 0;     // lists that the child offers, as bits of the dialect
  uint8_t changing = 0;  // lists whose changes the child reports
};

// The clients that receive a notification of a shared child, if the notification belongs to no
// call.
struct Audience {
  enum class Kind : uint8_t {
    everybody,
    caller,       // the session of all calls in flight at the child
    subscribers,  // clients that subscribed to `key` through this child
  };
  Kind kind = Kind::everybody;
  std::string_view key;  // as spelled between its quotes, inside of the notification
  std::optional<session::Severity> severity{};  // of a log message
  uint8_t list = 0;  // the list that has changed, as a bit of the dialect
};

// DialectTraits: constants of a protocol. A message is empty if the protocol has none of that kind.
struct DialectTraits {
  // Whether a child may serve several clients. If not, each child belongs to a session or is warm.
  bool shares_children = true;
  // Whether a cancelled call is over. If not, its answer is still due.
  bool cancel_ends_call = false;
  // Method names that the protocol defines; they get metric labels from the start.
  std::span<const std::string_view> methods{};
  // The method of greet(). The client of a session's own child sends the same request.
  std::string_view greeting{};
  // Configuration key that the log names when a child does not answer the greeting.
  std::string_view greeting_hint{};
  // The notification that completes a client's greeting.
  std::string_view greeting_completion{};
  // The method of probe(); empty: the protocol has one kind (see PeerKind).
  std::string_view probe{};
  // The notification of a child that has begun to listen for a call.
  std::string_view listening_begun{};
  // A log message of level warning: the server has lost what it kept in memory for this client.
  std::string_view restart_notice{};
  // The notification that follows the answer to shutdown_request().
  std::string_view exit{};
};

// Dialect: what a protocol adds to plain JSON-RPC 2.0: which ids and tokens inside payloads are
// rewritten, how a child is greeted, how a call is cancelled.
//
// Stateless; one per backend, owned by it. The rest of the core knows no method of a protocol.
class Dialect : public call::Protocol {
 public:
  // `traits` refers to constants.
  explicit Dialect(const DialectTraits& traits = {}) : traits_(traits) {}

  [[nodiscard]] const DialectTraits& traits() const { return traits_; }

  // The request that greets a new child before it gets calls; empty: the child is ready when it
  // runs. `client`: the params of a client's own greeting, which is repeated; nothing: the gateway
  // introduces itself.
  [[nodiscard]] virtual std::string greet(rpc::WireId /*id*/,
                                          std::optional<std::string_view> /*client*/) const {
    return {};
  }
  // Like DialectTraits::greeting_hint, but for a child that refuses with this answer.
  [[nodiscard]] virtual std::string_view refusal_hint(const rpc::Envelope& /*answer*/) const {
    return traits_.greeting_hint;
  }
  // Judges the child's answer: the notification that completes the handshake, or why it failed.
  [[nodiscard]] virtual tl::expected<std::string, std::string> finish_handshake(
      const rpc::Envelope& /*answer*/) const {
    return {};
  }
  // The facts about a child in its answer to this request, a greeting or a probe; nothing: the
  // answer shows that the child does not know the request.
  [[nodiscard]] virtual std::optional<ChildFacts> facts(const rpc::Envelope& /*answer*/,
                                                        std::string_view /*method*/) const {
    return ChildFacts();
  }

  // --- Protocols with stateful and stateless peers (see PeerKind)
  //
  // The probe asks a child what it is; a stateless child answers it without a handshake. Empty: the
  // protocol has one kind, with a handshake.
  [[nodiscard]] virtual std::string probe(rpc::WireId /*id*/) const { return {}; }
  // A request that every child answers at once. Only where a child may ask before its first call:
  // see Introduction.
  [[nodiscard]] virtual std::string ping(rpc::WireId /*id*/) const { return {}; }

  // The protocol's part of a backend: its filters, and what connects clients and children of
  // different kinds. Null: the protocol has neither.
  [[nodiscard]] virtual std::shared_ptr<Bridge> make_bridge(
      const backend::BridgeParts& /*parts*/) const {
    return nullptr;
  }

  // The revision of the protocol in a session with this greeting (params) and this answer (a
  // result). Empty: not known. The view lives as long as the dialect.
  [[nodiscard]] virtual std::string_view agreed_revision(const rpc::Envelope& /*answer*/,
                                                         std::string_view /*greeting*/) const {
    return {};
  }

  // --- Sessions that outlive their child, see Revival
  // The promises in the answer to a greeting; nothing: the child has refused the greeting.
  [[nodiscard]] virtual std::optional<GreetingTerms> terms(const rpc::Envelope& /*answer*/) const {
    return std::nullopt;
  }
  // Notifications that these lists may have changed.
  [[nodiscard]] virtual std::vector<std::string_view> change_notices(uint8_t /*lists*/) const {
    return {};
  }
  // Name and version of the client, for people, from the params of its greeting; may be empty.
  [[nodiscard]] virtual std::string client_label(std::string_view /*params*/) const { return {}; }

  // The meaning of a client's request or notification for a child. `method` is decoded. An error is
  // a constant phrase: the message is an invalid request.
  [[nodiscard]] virtual tl::expected<call::ClientIntent, const char*> read_client(
      const rpc::Envelope& message, std::string_view method,
      const call::Reading& reading) const = 0;

  // The notification that cancels `id` at the child; empty: the protocol has none.
  [[nodiscard]] virtual std::string cancel(rpc::WireId id, CancelReason reason) const = 0;

  // The raw id, inside `notification.text`, of the child's request that this notification cancels;
  // empty: it cancels none.
  [[nodiscard]] virtual std::string_view cancelled_by_child(const rpc::Envelope& /*notification*/,
                                                            std::string_view /*method*/) const {
    return {};
  }

  // The progress token, raw and inside `notification.text`, that names the call of a child's
  // notification; empty: the notification names none.
  [[nodiscard]] virtual std::string_view progress_token(const rpc::Envelope& /*notification*/,
                                                        std::string_view /*method*/) const {
    return {};
  }

  // The clients that receive a notification of a shared child without a token.
  [[nodiscard]] virtual Audience audience(const rpc::Envelope& /*notification*/,
                                          std::string_view /*method*/) const {
    return {};
  }
  // The request of the gateway that subscribes, or ends a subscription, for sessions. `key` is
  // decoded.
  [[nodiscard]] virtual std::string subscribe(rpc::WireId /*id*/, std::string_view /*key*/,
                                              bool /*begins*/) const {
    return {};
  }
  // The request of the gateway that sets the level of a child's log messages.
  [[nodiscard]] virtual std::string set_severity(rpc::WireId /*id*/,
                                                 session::Severity /*severity*/) const {
    return {};
  }
  // The key that encloses this key, if any; its subscribers receive updates of this key too. Empty:
  // none.
  [[nodiscard]] virtual std::string_view enclosing(std::string_view /*key*/) const { return {}; }

  // The result (raw JSON) of the gateway's own answer to a child's request; empty: the gateway does
  // not answer it.
  [[nodiscard]] virtual std::string_view answer_child(std::string_view /*method*/) const {
    return {};
  }

  // The request that asks a child to end before its stdin is closed; empty: closing it suffices.
  [[nodiscard]] virtual std::string shutdown_request(rpc::WireId /*id*/) const { return {}; }

 private:
  const DialectTraits traits_;
};

// The change that this message reports: of a list (Audience::list), or of an item that clients have
// subscribed to. A child that knows no sessions reports changes only to clients that listen.
// Nothing: the message reports no change that concerns all clients.
std::optional<Audience> change_told_by(const call::ChildMessage& message, const Dialect& dialect);

// JsonRpcDialect: plain JSON-RPC 2.0, with a configurable cancel notification.
class JsonRpcDialect final : public Dialect {
 public:
  // `cancel_method`: a notification with params {"id": …}, "$/cancelRequest" by convention; empty:
  // calls are not cancelled at the child.
  explicit JsonRpcDialect(std::string cancel_method) : cancel_method_(std::move(cancel_method)) {}

  [[nodiscard]] rpc::CodeSet codes() const override { return rpc::CodeSet::plain; }
  [[nodiscard]] tl::expected<call::ClientIntent, const char*> read_client(
      const rpc::Envelope& message, std::string_view method,
      const call::Reading& reading) const override;
  [[nodiscard]] bool is_lifecycle(std::string_view method) const override {
    return !cancel_method_.empty() && method == cancel_method_;
  }
  [[nodiscard]] std::string cancel(rpc::WireId id, CancelReason reason) const override;
  [[nodiscard]] std::string_view cancelled_by_child(const rpc::Envelope& notification,
                                                    std::string_view method) const override;

 private:
  const std::string cancel_method_;
};

}  // namespace stdgate::pool
