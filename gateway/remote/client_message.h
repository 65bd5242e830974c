// ClientMessage: a message of the client, or a batch, with the facts that are needed to send it on.
// MessageQueue: messages that wait. SessionMemory: messages that define the client's session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::remote {

struct ClientMessage {
  std::string text;
  std::vector<std::string> requests{};  // raw ids of the requests in it
  std::string method{};                 // decoded; empty: a response, or a batch
  std::string id{};                     // raw; of a request or response
  rpc::MessageKind kind = rpc::MessageKind::notification;
  bool is_batch = false;
  // The revision that a message without a session names; empty: the message belongs to a session.
  std::string version{};
  std::string target{};     // decoded value of the Mcp-Name field
  std::string cancelled{};  // raw id of the request that it cancels; empty: none

  // State of the sending.
  uint64_t number = 0;       // in the order of the client's messages
  uint32_t refusals = 0;     // times that it was refused and sent again
  TimePoint due{};           // end of the wait for a connection
  bool is_repeated = false;  // answered in part, and sent again

  [[nodiscard]] bool is_request() const { return !requests.empty(); }
  [[nodiscard]] bool is_modern() const { return !version.empty(); }
  [[nodiscard]] bool is_greeting() const { return is_request() && method == "initialize"; }
};

// `document` is the parsed `text`.
ClientMessage read_client_message(const rpc::Document& document, std::string_view text);

// A value as a header field may hold it: unchanged, or =?base64?…?= (MCP 2026-07-28, transports).
std::string field_value_of(std::string_view text);

// MessageQueue: messages of a client that cannot be sent yet, in the client's order.
//
// Owner: a Remote. Limits: kMaxMessages and kMaxBytes. At either limit is_full() holds, and the
// client is not read until it no longer does. Messages that are sent again may exceed the limits.
class MessageQueue {
 public:
  static constexpr size_t kMaxMessages = 1024;
  static constexpr size_t kMaxBytes = 64 << 20;

  // `on_room`: is_full() no longer holds.
  explicit MessageQueue(std::function<void()> on_room) : on_room_(std::move(on_room)) {}

  // Appends a message. `due`: the end of its wait.
  void push(ClientMessage message, TimePoint due);
  // Inserts a message in its place among the others.
  void put_back(ClientMessage message);
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] bool is_full() const;
  // Takes the first message; with `only_notices`, the first one that is no request.
  std::optional<ClientMessage> pop(bool only_notices = false);
  // Removes the request with this id (raw). Returns whether it was here.
  bool remove_request(std::string_view id);
  // Takes a message whose wait is over.
  std::optional<ClientMessage> pop_due(TimePoint now);
  // The end of the next wait.
  [[nodiscard]] std::optional<TimePoint> next_due() const;
  std::deque<ClientMessage> take_all();

 private:
  using Place = std::deque<ClientMessage>::iterator;
  std::optional<ClientMessage> take_out(const Place& place);

  const std::function<void()> on_room_;
  std::deque<ClientMessage> messages_;
  size_t bytes_ = 0;
  uint64_t last_number_ = 0;
};

// SessionMemory: the messages of a client that define its session, so that a new session can
// replace a lost one.
//
// Owner: a Remote. Limit: kMaxWishes subscriptions; the oldest are forgotten first.
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
