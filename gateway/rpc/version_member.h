// Version member: messages as peers want them who omit "jsonrpc" (BackendConfig::envelope).
//
// EnvelopeParser adds what they omit, so that the core knows messages with a version alone; this is
// the way back. Owner: none; no state. Cost: linear in the text.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stdgate::rpc {

// The concatenation of `parts`, one valid message or batch, without the member "jsonrpc" of each
// message; all else is kept byte for byte.
std::string without_version(std::span<const std::string_view> parts);

}  // namespace stdgate::rpc
