// What /debug/state and readiness see of a backend: its status, and how its last children ended.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/pool/child_facts.h"
#include "gateway/pool/child_link.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class Child;

// The state of a backend, as far as the gateway knows it.
enum class BackendState : uint8_t {
  unstarted,  // no child has been needed yet
  starting,
  started,  // a child runs, and has not been asked anything yet
  ready,    // a child has answered a handshake or a call
  idle,     // a child has worked, and none runs at the moment
  failing,  // the last child has failed, or cannot be started
  ending,
};
std::string_view backend_state_name(BackendState state);

// A child that runs.
struct ChildStatus {
  uint64_t number = 0;  // ordinal within the backend, from 1
  int pid = 0;
  ChildState state = ChildState::starting;
  size_t in_flight = 0;
  size_t listening = 0;  // calls of in_flight that only listen
  size_t unsent_bytes = 0;
  uint64_t calls = 0;
  size_t states = 0;    // given out to calls that wait for input of their clients
  size_t tasks = 0;     // given out and not finished
  bool leased = false;  // to a session
  uint64_t memory = 0;  // resident bytes of the child and its descendants; 0: not measured yet
  std::optional<ReplaceReason> replaced_for{};  // why it goes soon; nothing: it stays
  ReplaceWait waits_for = ReplaceWait::none;    // why it does not go yet
  std::string principal;  // owner of the child (isolation: principal); empty: none
  Duration age{0};
  ChildFacts facts;
};

// A session, for /debug/state.
struct SessionStatus {
  SessionState state = SessionState::live;
  std::string client;     // name and version; may be empty
  std::string address;    // may be empty
  uint64_t messages = 0;  // messages of the client
  Duration age{0};
  Duration idle{0};
};

// A child that has ended.
struct ChildExit {
  uint64_t number = 0;
  int pid = 0;  // 0: the command was never run
  ExitReason reason = ExitReason::asked;
  bool failed = false;
  std::string detail;  // exit code or signal, and what the gateway knows of the cause
  std::string hint;    // what may be wrong with it; may be empty
  std::vector<std::string> last_words;  // lines of stderr, oldest first
  size_t in_flight = 0;                 // calls in flight when the child ended
  std::string principal;                // owner of the child; empty: none
  Duration age{0};                      // since its end
  Duration lived{0};
};

// A member of a virtual server.
struct MemberStatus {
  std::string backend;
  bool is_up = false;              // the last request for the member's lists has succeeded
  bool is_starting = false;        // its first process is on its way
  std::string reason;              // why the member is not up
  std::vector<std::string> tools;  // by the names that clients see
  size_t prompts = 0;
  size_t resources = 0;
  MemberEnds ended{};  // calls, since the configuration was read
};

// BackendStatus: a snapshot of a backend for readiness, /debug/state and tests.
struct BackendStatus {
  std::string name;
  config::Isolation isolation = config::Isolation::shared;
  std::optional<PeerKind>
      peer_kind;  // of shared children; nothing: not known, or the protocol has but one kind
  uint32_t max_children = 0;  // 0: no limit of the backend's own
  size_t max_queued = 0;      // 0: no limit of the backend's own
  BackendState state = BackendState::unstarted;
  bool ready = false;  // the backend can serve calls
  std::string reason;  // why the backend is not ready, or why that is in doubt, for people
  size_t queued = 0;
  size_t queued_bytes = 0;
  size_t in_flight = 0;
  bool breaker_open = false;
  Duration retry_after{0};
  uint32_t failures = 0;  // in a row
  size_t sessions = 0;
  size_t parked_sessions = 0;   // sessions of `sessions` without a child
  uint32_t session_places = 0;  // children that sessions may have at a time
  size_t missing_places = 0;    // places that sessions which take turns lack, see PlaceShortage
  size_t parked_calls = 0;      // calls that wait for input of their clients
  bool asleep = false;          // no child runs; what is remembered is answered without one
  // Parts of the server's answers that are remembered, by their names for people.
  std::vector<std::string_view> remembered;
  std::string not_remembered;                     // why a part is missing; may be empty
  std::map<std::string_view, uint64_t> replaced;  // children replaced, by ReplaceReason
  size_t watches = 0;                             // calls that listen, and have subscribed for that
  std::vector<SessionStatus> oldest_sessions;
  std::vector<SessionStatus> longest_idle_sessions;
  std::vector<SessionStatus> busiest_sessions;
  std::vector<ChildStatus> children;
  std::vector<ChildExit> exits;  // the last ones, newest first; see ExitJournal
  SandboxStatus sandbox;
  std::vector<MemberStatus> members;  // of a virtual server
};

// ExitJournal: the last children of a pool that have ended, for /debug/state.
//
// Job: keep how each child ended, and its last lines of stderr without known secrets. Owner:
// Children. Limits: kMaxOfAKind failures and as many other exits, so that children which come and
// go with their sessions do not push failures out.
class ExitJournal {
 public:
  static constexpr size_t kMaxOfAKind = 5;

  explicit ExitJournal(const PoolServices& services) : services_(services) {}

  void note(const Child& child, const ChildEnd& end, bool failed);
  // Newest first.
  [[nodiscard]] std::vector<ChildExit> exits() const;

  // Cuts the merged exits of several journals to what one journal would have kept, newest first.
  static void keep_last(std::vector<ChildExit>& exits);

 private:
  struct Entry {
    TimePoint at{};
    ChildExit exit;
  };

  [[nodiscard]] std::string shown(const std::string& text) const;

  const PoolServices& services_;
  std::deque<Entry> failed_;  // oldest first
  std::deque<Entry> fine_;    // the same
};

}  // namespace stdgate::pool
