// What a session has told its child, and telling it to the next one.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call/call.h"
#include "gateway/observer.h"
#include "gateway/pool/child.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool_events.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

// Knowledge: facts about a client that has greeted no child here, because its session comes from
// another process, or because the gateway greets for it.
struct Knowledge {
  std::string_view greeting;
  // A child may ask something once it has been greeted; it gets no calls before that is answered.
  bool asks_first = false;
  std::optional<session::Severity> severity{};  // level of the log messages that the client wants
  std::string_view revision{};                  // revision that was agreed on; empty: not known
  std::vector<std::string> subscriptions{};     // keys
};

// SessionMemory: what a session has told its own child, so that another child can be told it again.
//
// Learns from calls that the child has answered with a result. Owner: the lease. Limits:
// kMaxGreeting bytes; a session with a longer greeting ends with its child. session::Subscriptions
// limits the subscriptions.
class SessionMemory {
 public:
  static constexpr size_t kMaxGreeting = 64 << 10;

  // The child has answered the session's greeting (params), with a result.
  void learn_greeting(std::string_view greeting, const rpc::Envelope& answer,
                      const Dialect& dialect);
  // The child has answered another request of the session, with a result. `text`: decoded.
  void learn(call::SessionMemo memo, std::string_view text);
  // Takes over what is known about the client from elsewhere.
  void adopt(const Knowledge& known);
  // See Knowledge::asks_first.
  [[nodiscard]] bool asks_first() const { return asks_first_; }
  // A new child has answered the greeting.
  void set_terms(GreetingTerms terms) { terms_ = std::move(terms); }
  // The client has completed its greeting.
  void complete() { is_complete_ = true; }
  [[nodiscard]] bool is_complete() const { return is_complete_; }

  // Whether another child can be told everything that matters.
  [[nodiscard]] bool is_repeatable() const { return is_repeatable_; }
  // Params of the greeting, raw JSON; empty: no child has answered one.
  [[nodiscard]] const std::string& greeting() const { return greeting_; }
  // Whether this revision of the protocol was agreed on, as far as that is known.
  [[nodiscard]] bool is_agreed(std::string_view revision) const {
    return terms_ ? terms_->revision == revision : agreed_.empty() || agreed_ == revision;
  }
  // Nothing: the answer to the greeting is not known.
  [[nodiscard]] const std::optional<GreetingTerms>& terms() const { return terms_; }
  [[nodiscard]] std::optional<session::Severity> severity() const { return severity_; }
  [[nodiscard]] const std::set<std::string, std::less<>>& subscriptions() const {
    return subscriptions_;
  }
  // Memory in use.
  [[nodiscard]] size_t bytes() const { return greeting_.capacity() + subscription_bytes_; }
  // Whether one more subscription can be kept.
  [[nodiscard]] bool has_room_for(std::string_view key) const;
  // Without effect if the subscription cannot be kept.
  void subscribe(std::string_view key);

  // The present child has been asked something, so it may keep state in its memory.
  void note_served() { has_served_ = true; }
  [[nodiscard]] bool has_served() const { return has_served_; }
  void forget_served() { has_served_ = false; }

 private:
  std::string greeting_;
  std::string agreed_;  // the revision that was agreed on elsewhere; empty: not known
  std::optional<GreetingTerms> terms_;
  std::optional<session::Severity> severity_;
  std::set<std::string, std::less<>> subscriptions_;
  size_t subscription_bytes_ = 0;
  bool is_repeatable_ = true;
  bool is_complete_ = false;
  bool has_served_ = false;
  bool asks_first_ = false;
};

// Revival: tells a session's new child what the session has told the child before.
//
// Job: send the client's greeting again and judge the answer; then complete the greeting, set the
// log level and subscribe. Where the child may ask something at once (SessionMemory::asks_first()),
// wait until that is answered. The client's messages come after all this. Owner: the lease, from
// the moment at which it gets the child. Limit: one request of the gateway's own at a time until
// the greeting is answered, then as many as the child has room for.
class Revival {
 public:
  Revival(const PoolServices& services, const SessionEvents& events, session::SessionId session,
          SessionMemory& memory)
      : services_(services), events_(events), session_(session), memory_(memory) {}

  // Sends what the child takes now. True: the child has been told everything.
  bool go_on(Child& child);
  // Whether `id` is the id of the greeting.
  [[nodiscard]] bool awaits(rpc::WireId id) const { return greeting_ == id; }
  // An answer to this id has come. If it answers the ping, the child has sent its first questions.
  void note_answer(rpc::WireId id) {
    if (pong_ == id) step_ = Step::questions;
  }
  // Judges the child's answer to the greeting; null: the answer cannot be read.
  RevivalOutcome judge(const rpc::Envelope* answer);
  // Messages for the client, after judge().
  [[nodiscard]] const std::vector<std::string_view>& notices() const { return notices_; }

 private:
  enum class Step : uint8_t { greeting, answer, memory, subscriptions, pong, questions };

  bool subscribe(Child& child);
  bool hear_out(Child& child);

  const PoolServices& services_;
  const SessionEvents& events_;
  const session::SessionId session_;
  SessionMemory& memory_;
  Step step_ = Step::greeting;
  std::optional<rpc::WireId> greeting_;
  std::optional<rpc::WireId> pong_;
  std::vector<std::string_view> notices_;
  std::string subscribed_;  // the last subscription that was sent
};

}  // namespace stdgate::pool
