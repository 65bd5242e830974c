// SessionMemory: the messages of a client that define its session, so that a new session can
// replace a lost one.
//
// Owner: a Remote. Limit: kMaxWishes subscriptions; the oldest are forgotten first.
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

  // Learns from a message that the server has taken.
  void learn(const ClientMessage& message);
  // Notes the answer to `initialize`. False: it names another revision than the last one.
  bool note_greeting(const rpc::Envelope& answer);

  [[nodiscard]] bool has_greeting() const { return !greeting_.text.empty(); }
  [[nodiscard]] bool has_greeted() const { return has_greeted_; }
  [[nodiscard]] const ClientMessage& greeting() const { return greeting_; }
  [[nodiscard]] const std::string& revision() const { return revision_; }
  // The messages that follow the greeting in a new session.
  [[nodiscard]] std::vector<ClientMessage> wishes() const;
  // Messages that tell the client about the new session.
  [[nodiscard]] std::vector<std::string> notices() const;
  void forget() { *this = {}; }

 private:
  ClientMessage greeting_;
  std::optional<ClientMessage> greeted_;  // notifications/initialized
  std::optional<ClientMessage> level_;
  std::vector<ClientMessage> wishes_;  // subscriptions
  std::string revision_;
  std::string terms_;  // other terms of the first greeting that the client relies on
  std::string capabilities_;
  bool has_served_ = false;  // the server has served more than the greeting
  bool has_greeted_ = false;
  bool has_changed_ = false;  // the last greeting offers other terms than the first one
};

}  // namespace stdgate::remote
