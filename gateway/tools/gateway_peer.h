// A running gateway as a Peer, over its POST /<backend>/rpc and GET /.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/tools/peer.h"
#include "transports/fetch/http_client.h"

namespace stdgate::tools {

tl::expected<std::unique_ptr<Peer>, Trouble> open_gateway_peer(const ToolArguments& arguments,
                                                               const ToolSurroundings& surroundings,
                                                               Duration timeout);

// The configuration of the gateway, of the file that --config names, else gateway.yaml; also where
// variables are not set that only the gateway has.
tl::expected<config::Config, std::string> gateway_config_of(const ToolArguments& arguments,
                                                            const ToolSurroundings& surroundings);

// The one line of a file that is a key, as `stdgate hash-key` prints it or alone.
tl::expected<std::string, std::string> read_key(const std::string& file);

// Of --url, else of the configuration; without one, where a gateway usually is.
tl::expected<fetch::GatewayAddress, Trouble> find_gateway(const ToolArguments& arguments,
                                                          const ToolSurroundings& surroundings);

// Where clients on this machine reach the first listener of a configuration.
fetch::GatewayAddress address_of(const config::Config& config);

}  // namespace stdgate::tools
