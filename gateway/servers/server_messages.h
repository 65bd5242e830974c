// The messages that a virtual server makes, or changes on their way. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/rpc/envelope.h"
#include "gateway/session/sinks.h"

namespace stdgate::servers {

// Params of the gateway's own initialize, which asks for a member's capabilities.
std::string greeting_of_gateway(const std::string& version);
// The message of an error (raw JSON), decoded.
std::string error_text(std::string_view error);
// The fault that a member has answered with, and its error (raw JSON), as the gateway's own.
rpc::FaultReport report_of(const session::Reply& reply, std::string_view error);
// Tells a member that the call with this number is given up.
std::string cancel_notice(session::Tag tag);
// Requests to a session at a member, in the gateway's own name.
std::string level_request(std::string_view level);
std::string subscribe_request(std::string_view uri);

// A log message of a member, with its name before the logger's; any other notification as it is.
std::string with_logger(const rpc::Envelope& notification, std::string_view member);
// A question of a member under another id, with the member's name in _meta.
std::string question_for_client(const rpc::Envelope& question, uint64_t id,
                                std::string_view member);
// The result of a modern member that asks the client, with the member's name in _meta of each
// question; empty: the result asks nothing.
std::string with_asking_member(const rpc::Envelope& answer, std::string_view member);
// The gateway's own error that there is no such tool or prompt, with the name that the client has
// used in the place of the member's own; empty: it is another answer.
std::string with_name_of_client(const rpc::Envelope& answer, std::string_view name);
// A message with another id.
std::string with_id(const rpc::Envelope& message, std::string_view id);
// The call inside of a call of call_tool; nothing: it is another call. The call inside may be
// malformed, and is judged as such.
std::optional<std::string> request_within(const rpc::Envelope& request);

// Whether it asks for updates of a resource, or for none any more.
bool is_subscription(std::string_view method);

}  // namespace stdgate::servers
