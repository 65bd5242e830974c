// ClientMessage: a message of the client, or a batch, with the facts that are needed to send it on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

}  // namespace stdgate::remote
