// The clients of a configuration: how many callers there may be, and which clients stay accepted
// after a reload. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "gateway/config/config.h"
#include "gateway/policy/client.h"
#include "gateway/session/sinks.h"

namespace stdgate::app {

// Enough for all clients that the limits of this configuration let in, so this limit is never
// reached first.
size_t client_places(const config::Config& config);

// Why no client is served at the moment, for readiness; empty: there is room for clients.
std::string why_no_client(const session::Callers& callers);

// Whether a credential that was accepted would also be accepted after a reload. `after` decides, by
// the principal's kind and name: the credential stays accepted if no part of its configuration has
// been taken away. Several keys may have one name, and which of them the client has shown is not
// known. So all of them have to be there still, with the same roles.
bool is_still_known(const policy::Principal& principal, const config::AuthConfig& before,
                    const config::AuthConfig& after);

}  // namespace stdgate::app
