// SessionMemory: what a client has said that makes its session what it is, so that another one can
// be begun in its place.
//
// Owner: a Remote. Limits: kMaxWishes subscriptions, the oldest are forgotten first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/remote/client_message.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::remote {

class SessionMemory {
 public:
  static constexpr size_t kMaxWishes = 256;

  // A message that the server has taken.
  void learn(const ClientMessage& message);
  // The answer to `initialize`. False: the server greets in another revision than the last time.
  bool note_greeting(const rpc::Envelope& answer);

  [[nodiscard]] bool has_greeting() const { return !greeting_.text.empty(); }
  [[nodiscard]] bool has_greeted() const { return has_greeted_; }
  [[nodiscard]] const ClientMessage& greeting() const { return greeting_; }
  [[nodiscard]] const std::string& revision() const { return revision_; }
  // What follows the greeting in a session that is begun anew.
  [[nodiscard]] std::vector<ClientMessage> wishes() const;
  // What the client is told of such a session.
  [[nodiscard]] std::vector<std::string> notices() const;
  void forget() { *this = {}; }

 private:
  ClientMessage greeting_;
  std::optional<ClientMessage> greeted_;  // notifications/initialized
  std::optional<ClientMessage> level_;
  std::vector<ClientMessage> wishes_;  // subscriptions
  std::string revision_;
  std::string terms_;  // what else of the first greeting the client relies on
  std::string capabilities_;
  bool has_served_ = false;  // more than the greeting
  bool has_greeted_ = false;
  bool has_changed_ = false;  // the last greeting offers something else than the first
};

}  // namespace stdgate::remote
