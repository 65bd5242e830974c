// ClientMessage: a message of the client, or a batch, with what has to be known of it to send it
// on.
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
  std::vector<std::string> requests{};  // raw ids of those in it
  std::string method{};                 // decoded; empty: a response, or a batch
  std::string id{};                     // raw; of a request or response
  rpc::MessageKind kind = rpc::MessageKind::notification;
  bool is_batch = false;
  // Of MCP's revisions without sessions: the version that it names; empty: it is of a session.
  std::string version{};
  std::string target{};     // what its Mcp-Name field repeats, decoded
  std::string cancelled{};  // raw id of the request that it cancels; empty: it cancels none

  // How it fares.
  uint64_t number = 0;       // in the order of the client's messages
  uint32_t refusals = 0;     // times that it was refused, and is sent again for that
  TimePoint due{};           // until when it may wait for a connection
  bool is_repeated = false;  // it has been answered in part, and is sent again

  [[nodiscard]] bool is_request() const { return !requests.empty(); }
  [[nodiscard]] bool is_modern() const { return !version.empty(); }
  [[nodiscard]] bool is_greeting() const { return is_request() && method == "initialize"; }
};

// `document` is of `text`.
ClientMessage read_client_message(const rpc::Document& document, std::string_view text);

// A value as a header field may have it: itself, or =?base64?…?= (MCP 2026-07-28, transports).
std::string field_value_of(std::string_view text);

}  // namespace stdgate::remote
