// Session: what ties the messages of one client together, and the requests that it has been asked.
//
// Owner: the session router of a backend, which ends it (SessionRouter::end). Limit: kMaxAsks
// requests of children that its client has not answered yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/base/account.h"
#include "gateway/base/client_address.h"
#include "gateway/base/session_name.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/policy/principal.h"
#include "gateway/session/asks.h"
#include "gateway/session/log_verbosity.h"
#include "gateway/session/session_listener.h"
#include "gateway/session/session_sink.h"
#include "gateway/session/told_lists.h"

namespace stdgate::session {

// Whom a session is of.
enum class SessionKind : uint8_t {
  client,
  trip,   // a call of a client without a session, that has a child alone: RoundTrips
  watch,  // such a call that listens for updates of legacy children: KeyWatches
};
inline constexpr size_t kSessionKindCount = static_cast<size_t>(SessionKind::watch) + 1;

struct Session {
  static constexpr size_t kMaxAsks = Asks::kMaxAsks;

  SessionId id;  // its own
  Caller caller;
  SessionKind kind = SessionKind::client;
  std::optional<Severity> severity;  // of log messages that it wants of shared children
  SessionState state = SessionState::live;
  SessionName name;                   // in log and audit
  uint64_t own_child = 0;             // number of its child, or of the last one; 0: none
  ClientAddress client;               // who has opened it
  policy::PrincipalRef principal;     // who that is; null: nobody is known
  Share held{{}, Holding::sessions};  // of what is known of it
  std::string label;                  // the client's name and version, for people; may be empty
  std::string_view revision;          // that was agreed on, of the dialect; empty: none yet
  TimePoint opened{};                 // here, or in the process that it comes from
  TimePoint used{};                   // the last message of its client
  uint64_t messages = 0;              // of its client
  bool is_new_here = false;  // it comes from another process, which its client has not been told
  bool is_unproven = false;  // nor has a shared child served it here
  bool holds_calls = false;  // they are not to be sent yet
  bool awaits_era =
      false;  // its child has refused the greeting, another one is asked: no other calls
  bool has_ended = false;  // its client has been told, and is told nothing more; it closes it soon
  bool reads = true;       // its messages are taken, as far as its client has been told
  bool is_held = false;    // its client takes too little: a child of its own is not read
  ToldLists told;          // while its server slept, and not checked since
  SessionSink* sink = nullptr;
  // Of sessions that share children.
  std::string greeting;        // its params; empty: the client has not greeted, or at length
  bool is_askable = false;     // the client can be asked something, it says there
  std::string stamp;           // see Dialect::session_stamp(); empty: the client has not greeted
  size_t stamp_of_client = 0;  // of its bytes those that do not change
  std::unique_ptr<SessionListener> listener;  // at modern children; null: it has none
  // Under the ids that the client sees. Made with the first one: most sessions are never asked.
  std::unique_ptr<Asks> asks;

  [[nodiscard]] bool is_of_client() const { return kind == SessionKind::client; }
  // Tells its client, if that is news.
  void set_reading(bool reading) {
    if (!has_ended && std::exchange(reads, reading) != reading) sink->set_reading(reading);
  }
  // Tells its client, the first time.
  void end(SessionEnd how, std::string_view message) {
    if (!std::exchange(has_ended, true)) sink->on_session_end(how, message);
  }
};

}  // namespace stdgate::session
