// MemberRequest: a client's request as a member gets it: under a number of the gateway's own, and
// by the names that the member has given.
//
// All else is kept byte for byte. The parts of the envelope are moved with their text, which is not
// parsed again. Owner: the function that hands the request over; a value that does not move.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/call/filter.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/routes.h"
#include "gateway/session/sinks.h"

namespace stdgate::servers {

class MemberRequest {
 public:
  // `storage`: its memory is used for the text.
  MemberRequest(const call::Request& request, const Route& route, session::Tag tag,
                std::span<const call::Insertion> insertions, std::string storage = {});
  MemberRequest(const MemberRequest&) = delete;
  MemberRequest& operator=(const MemberRequest&) = delete;

  [[nodiscard]] const rpc::Envelope& envelope() const { return envelope_; }
  // The params as the transport has read them; null: it has read none.
  [[nodiscard]] const mcp::McpParams* params() const { return params_ ? &*params_ : nullptr; }
  // Gives the text's memory back. The request cannot be used afterwards.
  std::string release() { return std::move(text_); }

 private:
  // Makes the changes besides id and name.
  void edit(const call::Request& request, const Route& route, std::string_view id,
            std::string_view own_name, std::span<const call::Insertion> insertions);

  std::string text_;
  rpc::Envelope envelope_;
  std::optional<mcp::McpParams> params_;
  std::optional<rpc::KnownMessage> known_;  // of a request that had no params
};

}  // namespace stdgate::servers
