// A command as a Peer: one process, greeted as its protocol wants, ended with this object.
#pragma once

#include <memory>
#include <tl/expected.hpp>

#include "gateway/base/time.h"
#include "gateway/tools/peer.h"

namespace stdgate::tools {

// `timeout`: of the start, and of each call.
tl::expected<std::unique_ptr<Peer>, Trouble> open_command_peer(const ToolArguments& arguments,
                                                               const ToolSurroundings& surroundings,
                                                               Duration timeout);

}  // namespace stdgate::tools
