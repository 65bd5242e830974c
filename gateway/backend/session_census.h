// Who has how many sessions, and which of them can do without.
//
// Sessions are opened and revived far less often than calls are made, and there are few of them: to
// look at all is cheaper than to keep count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "gateway/config/config.h"
#include "gateway/policy/client_quotas.h"
#include "gateway/session/session_table.h"

namespace stdgate::backend {

// Sessions of this client that are not parked. Nobody's, if the client has no name and no address.
size_t at_work_of(const session::SessionTable& sessions, const policy::ClientRef& client);

// Whether this client may not have another session at work: it has as many as its limit says.
// Without a limit, and if it is known who it is: it has half of the places for sessions with a
// child of their own, all places are taken, and a session of another client waits for one.
bool has_its_share(const session::SessionTable& sessions, const policy::ClientRef& client,
                   const config::BackendConfig& config, uint32_t places);

// Of the sessions that are not parked and have nothing open. Null: there is none. Of many sessions
// not all are looked at, but kMaxLook from this place on, which moves on: whoever asks for a
// session when all are taken can ask often.
inline constexpr size_t kMaxLook = 128;
session::Session* longest_idle(session::SessionTable& sessions, uint32_t& place);

// Tells the clients that are not admitted any more that their sessions are over.
void end_unless(session::SessionTable& sessions,
                const std::function<bool(const policy::Principal*)>& is_admitted,
                session::SessionEnd end, std::string_view message);

// Tells all sessions that share children whether their messages are taken. Each time another one
// begins, as the first may fill the queue again before the others get anything into it: with the
// next place after `last_first`. Returns that place.
uint32_t set_reading_all(session::SessionTable& sessions,
                         const std::function<bool(session::SessionId)>& has_own_child, bool reading,
                         uint32_t last_first);

}  // namespace stdgate::backend
