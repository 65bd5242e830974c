// What a server has sent, message by message.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "gateway/remote/remote.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::remote {

// Hands each message of `text` to `each`, until that returns false; people are told of what is no
// JSON-RPC. `url` is for them.
void read_server_text(rpc::EnvelopeParser& parser, std::span<char> text, const std::string& url,
                      LocalClient& client, const std::function<bool(const rpc::Envelope&)>& each);

}  // namespace stdgate::remote
