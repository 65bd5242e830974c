// Dialect: what a protocol adds to plain JSON-RPC 2.0: which ids and tokens inside of payloads are
// rewritten, how a child is greeted, how a call is cancelled.
//
// Stateless; one per backend, owned by it. Every other file of the core is free of protocol names.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/call/client_intent.h"
#include "gateway/call/insertion.h"
#include "gateway/call/protocol.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/policy/rules.h"
#include "gateway/pool/child_facts.h"
#include "gateway/pool/input_dialect.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"
#include "gateway/session/log_verbosity.h"

namespace stdgate::mcp {
struct ModernParams;
}

namespace stdgate::pool {

struct FilterServices;

// Where a protocol's filters stand: above the rules, right below them, where also what is answered
// in the place of a child is judged, or nearest to the children.
enum class FilterLayer : uint8_t { outer, judging, inner };

// Why the gateway gives up a call that a child is working on.
enum class CancelReason : uint8_t { client_cancelled, client_left, deadline };
std::string_view cancel_reason_text(CancelReason reason);

// What a child's answer to the greeting of its session's client promises that client.
struct GreetingTerms {
  std::string revision;  // of the protocol
  uint64_t digest = 0;   // of all else that the client may rely on
  uint8_t lists = 0;     // which lists the child offers: bits of the dialect's own
  uint8_t changing = 0;  // of whose changes it tells
};

// Who receives a notification of a shared child that belongs to no call.
struct Audience {
  enum class Kind : uint8_t {
    everybody,
    caller,       // the session that all calls in flight at the child belong to
    subscribers,  // those who subscribed to `key` through this child
  };
  Kind kind = Kind::everybody;
  std::string_view key;  // as spelled between its quotes, inside of the notification
  std::optional<session::Severity> severity{};  // of a log message
  uint8_t list = 0;  // of the change of a list: a bit of the dialect's own
};

class Dialect : public call::Protocol {
 public:
  // Whether a child may serve several clients; else each child is some session's, or waits for one.
  [[nodiscard]] virtual bool shares_children() const { return true; }
  // Method names that the protocol defines; they get metric labels from the start.
  [[nodiscard]] virtual std::span<const std::string_view> known_methods() const { return {}; }

  // The request that greets a new child before it gets calls; empty: it is ready when it runs.
  [[nodiscard]] virtual std::string handshake(rpc::WireId /*id*/) const { return {}; }
  // The method of that request, and what to set when a child does not answer it, for the log. A
  // session's own child is greeted by its client, with the same.
  [[nodiscard]] virtual std::string_view greeting() const { return {}; }
  [[nodiscard]] virtual std::string_view greeting_hint() const { return {}; }
  // The same for a child that answers so, without what is due.
  [[nodiscard]] virtual std::string_view refusal_hint(const rpc::Envelope& /*answer*/) const {
    return greeting_hint();
  }
  // Judges the child's answer: the notification that completes the handshake, or why it failed.
  [[nodiscard]] virtual tl::expected<std::string, std::string> finish_handshake(
      const rpc::Envelope& /*answer*/) const {
    return {};
  }

  // --- Protocols with two eras (see Era)
  // The request that asks a child what it is, which one of the modern era answers without a
  // handshake, and its method; empty: the protocol has one era, that of the handshake.
  [[nodiscard]] virtual std::string probe(rpc::WireId /*id*/) const { return {}; }
  [[nodiscard]] virtual std::string_view probe_method() const { return {}; }
  // What a request of a client of the modern era asks for, as read_client(). `params`: what a
  // transport has read of them; null: nothing.
  [[nodiscard]] virtual tl::expected<call::ClientIntent, const char*> read_modern_client(
      const rpc::Envelope& request, std::string_view method,
      const mcp::ModernParams* /*params*/) const {
    return read_client(request, method, config::Isolation::shared);
  }
  // The members of params._meta that a modern child demands and this request lacks; they live as
  // long as the dialect. Empty: none.
  [[nodiscard]] virtual std::string_view stamp(const rpc::Envelope& /*request*/) const {
    return {};
  }
  // The same for a session whose client has greeted with these params, and the one more that says
  // from which level on it wants log messages.
  [[nodiscard]] virtual std::string session_stamp(std::string_view /*greeting*/) const {
    return {};
  }
  [[nodiscard]] virtual std::string severity_stamp(session::Severity /*severity*/) const {
    return {};
  }
  // The members of a modern request that a legacy child must not get.
  [[nodiscard]] virtual call::EraChanges omissions(const rpc::Envelope& /*request*/) const {
    return {};
  }
  // --- Calls that listen (ClientIntent::listens). `id` is the call's, raw JSON
  // The member result that ends one.
  [[nodiscard]] virtual std::string listening_end(std::string_view /*id*/) const { return {}; }
  // Whether a notification says that a child has begun with one.
  [[nodiscard]] virtual bool begins_listening(std::string_view /*method*/) const { return false; }
  // At a child of the legacy era, whose facts these are, the gateway listens itself: the
  // notification that begins it, and the member of params._meta that tags what follows.
  [[nodiscard]] virtual std::string begin_listening(std::string_view /*id*/, uint8_t /*lists*/,
                                                    std::span<const std::string> /*keys*/,
                                                    const ChildFacts& /*facts*/) const {
    return {};
  }
  // The keys, decoded, whose updates this request listens for and such a child tells of.
  [[nodiscard]] virtual std::vector<std::string> listened_keys(const rpc::Envelope& /*request*/,
                                                               const ChildFacts& /*facts*/) const {
    return {};
  }
  [[nodiscard]] virtual std::string listening_tag(std::string_view /*id*/) const { return {}; }

  // The lists of whose changes such a child tells (bits of the dialect's own).
  [[nodiscard]] virtual uint8_t changing_lists(const ChildFacts& /*facts*/) const { return 0; }

  // --- The gateway listens for sessions of the legacy era: see SessionListening
  // The request of a client with this stamp.
  [[nodiscard]] virtual std::string listen_request(
      std::string_view /*stamp*/, bool /*lists*/,
      const std::set<std::string, std::less<>>& /*keys*/) const {
    return {};
  }
  // What has come as the session is to get it; empty: it is not for the session.
  [[nodiscard]] virtual std::string untagged(const rpc::Envelope& /*notification*/) const {
    return {};
  }

  // How a modern client is asked what a legacy child wants to know; null: it cannot be.
  [[nodiscard]] virtual const InputDialect* input() const { return nullptr; }

  // Adds to the chain what the protocol has there, in the order in which a request passes it. The
  // result owns that, and ends before the chain; null: nothing.
  [[nodiscard]] virtual std::shared_ptr<void> add_filters(const FilterServices& /*services*/,
                                                          FilterLayer /*layer*/) const {
    return nullptr;
  }

  // The error (raw JSON) for a modern request that only a legacy child could get.
  [[nodiscard]] virtual std::string wrong_era_error() const { return {}; }
  // What the answer to it says; nothing: the child is not of the modern era.
  [[nodiscard]] virtual std::optional<ChildFacts> discovery(const rpc::Envelope& /*answer*/) const {
    return std::nullopt;
  }

  // The revision of the protocol that a session speaks whose greeting, with these params, was
  // answered so (a result); it lives as long as the dialect. Empty: none that is known.
  [[nodiscard]] virtual std::string_view agreed_revision(const rpc::Envelope& /*answer*/,
                                                         std::string_view /*greeting*/) const {
    return {};
  }

  // What a child has said of itself by its answer (a result) to a greeting.
  [[nodiscard]] virtual ChildFacts facts(const rpc::Envelope& /*answer*/) const { return {}; }

  // --- Sessions that outlive their child, see Revival
  // The greeting of a session's client once more, for another child. `params` are the client's.
  [[nodiscard]] virtual std::string greet_again(rpc::WireId /*id*/,
                                                std::string_view /*params*/) const {
    return {};
  }
  // The notification with which a client completes its greeting.
  [[nodiscard]] virtual std::string_view greeting_completion() const { return {}; }
  // What the answer to a greeting promises; nothing: the child has refused it.
  [[nodiscard]] virtual std::optional<GreetingTerms> terms(const rpc::Envelope& /*answer*/) const {
    return std::nullopt;
  }
  // Tells a client that what its server kept in memory is gone: a log message, a warning.
  [[nodiscard]] virtual std::string_view restart_notice() const { return {}; }
  // Tell a client that these lists may have changed.
  [[nodiscard]] virtual std::vector<std::string_view> change_notices(uint8_t /*lists*/) const {
    return {};
  }
  // The name and version of the client, for people, from the params of its greeting; may be empty.
  [[nodiscard]] virtual std::string client_label(std::string_view /*params*/) const { return {}; }

  // What a client's request or notification asks of a child that it shares or has to itself.
  // `method` is decoded. An error is a constant phrase: the message is an invalid request.
  [[nodiscard]] virtual tl::expected<call::ClientIntent, const char*> read_client(
      const rpc::Envelope& message, std::string_view method, config::Isolation isolation) const = 0;

  // The notification that cancels `id` at the child; empty: the child is not told.
  [[nodiscard]] virtual std::string cancel(rpc::WireId id, CancelReason reason) const = 0;
  // Whether a call that its client has cancelled is over; else its answer is still due.
  [[nodiscard]] virtual bool cancel_ends_call() const { return false; }

  // The raw id, inside of `notification.text`, of the child's own request that it cancels with this
  // notification; empty: it cancels none.
  [[nodiscard]] virtual std::string_view cancelled_by_child(const rpc::Envelope& /*notification*/,
                                                            std::string_view /*method*/) const {
    return {};
  }

  // The progress token, raw and inside of `notification.text`, by which a child's notification
  // names the call that it belongs to; empty: it names none.
  [[nodiscard]] virtual std::string_view progress_token(const rpc::Envelope& /*notification*/,
                                                        std::string_view /*method*/) const {
    return {};
  }

  // Who receives a notification of a shared child that names no call by a token.
  [[nodiscard]] virtual Audience audience(const rpc::Envelope& /*notification*/,
                                          std::string_view /*method*/) const {
    return {};
  }
  // The requests with which the gateway subscribes, or ends that, for sessions. `key` is decoded.
  [[nodiscard]] virtual std::string subscribe(rpc::WireId /*id*/, std::string_view /*key*/) const {
    return {};
  }
  [[nodiscard]] virtual std::string unsubscribe(rpc::WireId /*id*/,
                                                std::string_view /*key*/) const {
    return {};
  }
  // Whether a child sends log messages that a level can be set for.
  [[nodiscard]] virtual bool logs(const ChildFacts& /*facts*/) const { return true; }
  // The request with which the gateway sets what a shared child logs.
  [[nodiscard]] virtual std::string set_severity(rpc::WireId /*id*/,
                                                 session::Severity /*severity*/) const {
    return {};
  }
  // The key that encloses this one; its subscribers receive updates of the enclosed key too. Empty:
  // none.
  [[nodiscard]] virtual std::string_view enclosing(std::string_view /*key*/) const { return {}; }

  // The result (raw JSON) with which the gateway itself answers a child's request; empty: it does
  // not.
  [[nodiscard]] virtual std::string_view answer_child(std::string_view /*method*/) const {
    return {};
  }

  // The request with which a child is asked to end before its stdin is closed, and the notification
  // that follows its answer; empty: closing stdin suffices.
  [[nodiscard]] virtual std::string shutdown_request(rpc::WireId /*id*/) const { return {}; }
  [[nodiscard]] virtual std::string exit_notification() const { return {}; }
};

}  // namespace stdgate::pool
