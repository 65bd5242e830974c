// How many callers there may be at a time: see session::Callers. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "gateway/config/config.h"
#include "gateway/session/reply_sink.h"

namespace stdgate::app {

// Enough for all clients that the limits of this configuration let in, so that none of them meets
// this limit.
size_t client_places(const config::Config& config);

// Why no client is served at the moment, for readiness; empty: there is room for some.
std::string why_no_client(const session::Callers& callers);

}  // namespace stdgate::app
