// BackendStatus: a snapshot of a backend for readiness, /debug/state and tests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/pool/child_facts.h"
#include "gateway/pool/sandbox_status.h"

namespace stdgate::pool {

// What is known of a backend.
enum class BackendState : uint8_t {
  unstarted,  // it has not been needed yet
  starting,
  started,  // a child runs, and has not been asked anything yet
  ready,    // a child has answered, a handshake at least
  idle,     // it has worked, and has no child at the moment
  failing,  // what was started last has failed, or cannot be started
  ending,
};
std::string_view backend_state_name(BackendState state);

struct ChildStatus {
  uint64_t number = 0;  // ordinal within the backend, from 1
  int pid = 0;
  ChildState state = ChildState::starting;
  size_t in_flight = 0;
  size_t listening = 0;  // of these, calls that just listen
  size_t unsent_bytes = 0;
  uint64_t calls = 0;
  size_t states = 0;    // given out, of calls that wait for input of their clients
  size_t tasks = 0;     // given out, and not over
  bool leased = false;  // to a session
  uint64_t memory = 0;  // resident bytes, with all that it has started; 0: nobody has looked
  std::optional<ReplaceReason> replaced_for{};  // it goes as soon as it can; nothing: it stays
  std::string principal;  // whose child it is (isolation: principal); empty: nobody's
  Duration age{0};
  ChildFacts facts;
};

// One session of those that /debug/state shows.
struct SessionStatus {
  SessionState state = SessionState::live;
  std::string client;     // name and version; may be empty
  std::string address;    // may be empty
  uint64_t messages = 0;  // of its client
  Duration age{0};
  Duration idle{0};
};

// A child that has ended.
struct ChildExit {
  uint64_t number = 0;
  int pid = 0;  // 0: the command was never run
  ExitReason reason = ExitReason::asked;
  bool failed = false;
  std::string detail;                   // exit code or signal, and what the gateway knows of it
  std::string hint;                     // what may be wrong with it; may be empty
  std::vector<std::string> last_words;  // lines of stderr, oldest first
  size_t in_flight = 0;                 // calls that it had
  std::string principal;                // whose child it was; empty: nobody's
  Duration age{0};                      // since its end
  Duration lived{0};
};

// A member of a virtual server.
struct MemberStatus {
  std::string backend;
  bool is_up = false;              // its lists have come when they were asked for last
  std::string reason;              // why not
  std::vector<std::string> tools;  // by the names that clients see
  size_t prompts = 0;
  size_t resources = 0;
};

struct BackendStatus {
  std::string name;
  config::Isolation isolation = config::Isolation::shared;
  std::optional<Era> era;     // of shared children; nothing: not known, or of no matter
  uint32_t max_children = 0;  // 0: there is no such number
  size_t max_queued = 0;      // the same
  BackendState state = BackendState::unstarted;
  bool ready = false;  // it can be used
  std::string reason;  // why not, or why that is in doubt, for a human
  size_t queued = 0;
  size_t queued_bytes = 0;
  size_t in_flight = 0;
  bool breaker_open = false;
  Duration retry_after{0};
  uint32_t failures = 0;  // in a row
  size_t sessions = 0;
  size_t parked_sessions = 0;   // of these
  uint32_t session_places = 0;  // children that sessions may have at a time
  size_t missing_places = 0;    // that sessions which take turns would need, see PlaceShortage
  size_t parked_calls = 0;      // that wait for input of their clients
  bool asleep = false;          // no child runs; what is remembered is answered without one
  // What is remembered of the server, as people name it.
  std::vector<std::string_view> remembered;
  std::string not_remembered;                     // why not all of it; may be empty
  std::map<std::string_view, uint64_t> replaced;  // children, by why; see ReplaceReason
  size_t watches = 0;  // calls that listen for updates of legacy children
  std::vector<SessionStatus> oldest_sessions;
  std::vector<SessionStatus> longest_idle_sessions;
  std::vector<SessionStatus> busiest_sessions;
  std::vector<ChildStatus> children;
  std::vector<ChildExit> exits;  // the last ones, newest first; see ExitJournal
  SandboxStatus sandbox;
  std::vector<MemberStatus> members;  // of a virtual server
};

}  // namespace stdgate::pool
