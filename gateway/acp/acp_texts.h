// Members of ACP's messages that AcpConnection reads and writes.
#pragma once

#include <string>
#include <string_view>

#include "gateway/rpc/envelope.h"

namespace stdgate::acp {

// The session that these params, or this result, name, decoded; empty: they name none.
std::string session_in(std::string_view params);
bool is_method(const rpc::Envelope& message, std::string_view method);
// Whether its head has to name the session of its params.
bool needs_session(const rpc::Envelope& message);
// `answer`: to `initialize`; `result`: its member. The RFD has the id in the body, too.
std::string with_connection_id(std::string_view answer, std::string_view result,
                               const std::string& id);

}  // namespace stdgate::acp
