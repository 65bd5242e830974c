// How many sessions each client has, and which sessions can give way.
//
// Sessions are opened and revived far less often than calls are made, and there are few of them. So
// a walk over all of them is cheaper than a count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "gateway/config/config.h"
#include "gateway/policy/quotas.h"
#include "gateway/session/session.h"

namespace stdgate::backend {

// Number of this client's sessions that are not parked. Zero if the client has no name and no
// address.
size_t at_work_of(const session::SessionTable& sessions, const policy::ClientRef& client);

// Whether this client may not have another session at work, because it has as many as its limit
// allows. Without a limit, an identified client must not have more than half of the places for
// sessions with a child of their own, once all places are taken and a session of another client
// waits.
bool has_its_share(const session::SessionTable& sessions, const policy::ClientRef& client,
                   const config::BackendConfig& config, uint32_t places);

// The longest idle session that is not parked and has nothing open; null: none. Of many sessions,
// only kMaxLook are checked, beginning at `place`, which moves on. So even frequent requests for a
// session stay cheap when all places are taken.
inline constexpr size_t kMaxLook = 128;
session::Session* longest_idle(session::SessionTable& sessions, uint32_t& place);

// Ends the sessions of clients that are not admitted any more, and tells the clients.
void end_unless(session::SessionTable& sessions,
                const std::function<bool(const policy::Principal*)>& is_admitted,
                session::SessionEnd end, std::string_view message);

// Tells all sessions that share children whether their messages are taken. Each time another
// session is told first, because the first one may fill the queue before the others add anything:
// the one at the place after `last_first`. Returns its place.
uint32_t set_reading_all(session::SessionTable& sessions,
                         const std::function<bool(session::SessionId)>& has_own_child, bool reading,
                         uint32_t last_first);

}  // namespace stdgate::backend
