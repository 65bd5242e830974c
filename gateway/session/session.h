// Session: ties the messages of one client together, and holds the requests that it has been asked.
//
// Owner: the session router of a backend, which ends it (SessionRouter::end). Limit: kMaxAsks
// requests of children that its client has not answered yet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/policy/principal.h"
#include "gateway/session/asks.h"
#include "gateway/session/log_verbosity.h"
#include "gateway/session/session_sink.h"

namespace stdgate::session {

// ToldLists: the lists that a client has been told while its server slept.
//
// Owner: the session, or the filter that answers. Limit: kKinds.
struct ToldLists {
  static constexpr size_t kKinds = 4;

  // Digests of the lists, by kind; 0: not told.
  std::array<uint64_t, kKinds> digests{};
  // The client was told different lists, so an answer of a child is news in any case.
  static constexpr uint64_t kMixed = 1;

  void note(size_t kind, uint64_t digest) {
    const bool is_other = digests[kind] != 0 && digests[kind] != digest;
    digests[kind] = is_other ? kMixed : digest;
  }
  [[nodiscard]] bool any() const { return digests != decltype(digests){}; }
  friend bool operator==(const ToldLists&, const ToldLists&) = default;
};

// The purpose of a session.
enum class SessionKind : uint8_t {
  client,
  trip,   // a call without a session that has a child alone: RoundTrips
  watch,  // a call that listens, and has subscribed for that: KeyWatches
};
inline constexpr size_t kSessionKindCount = static_cast<size_t>(SessionKind::watch) + 1;

// State that backend::Bridge keeps for a session. Destroyed with the session.
class BridgedPart {
 public:
  BridgedPart() = default;
  virtual ~BridgedPart() = default;
  BridgedPart(const BridgedPart&) = delete;
  BridgedPart& operator=(const BridgedPart&) = delete;

  // The client of the backend whose calls listen for the session; none: no call does.
  [[nodiscard]] virtual Caller caller() const = 0;
  // Keys that the session has subscribed to by such calls.
  [[nodiscard]] virtual std::vector<std::string> subscriptions() const = 0;
  virtual void stop_listening() = 0;
  // Memory that is charged with the session.
  [[nodiscard]] virtual size_t bytes() const = 0;
};

struct Session {
  static constexpr size_t kMaxAsks = Asks::kMaxAsks;

  SessionId id;  // its own
  Caller caller;
  SessionKind kind = SessionKind::client;
  std::optional<Severity> severity;  // level of the log messages that it wants from shared children
  SessionState state = SessionState::live;
  SessionName name;                   // in log and audit
  uint64_t own_child = 0;             // number of the present or the last child; 0: none
  ClientAddress client;               // address of the client
  policy::PrincipalRef principal;     // null: anonymous
  Share held{{}, Holding::sessions};  // what is known about it
  std::string label;                  // the client's name and version, for people; may be empty
  std::string_view revision;          // the agreed revision, of the dialect; empty: none yet
  TimePoint opened{};                 // here, or in the process that it comes from
  TimePoint used{};                   // time of the client's last message
  uint64_t messages = 0;              // messages of the client
  bool is_new_here = false;           // it began in another process; the client has not been told
  bool is_unproven = false;           // it began elsewhere, and no shared child has served it yet
  bool holds_calls = false;           // its calls must wait
  bool awaits_greeting = false;       // its child has refused the greeting, and another is asked
  bool has_ended = false;  // the client has been told, is told nothing more, and will close it
  bool reads = true;       // the client has been told that its messages are taken
  bool is_held = false;    // the client reads too slowly, so a child of its own is not read
  ToldLists told;          // told while the server slept, and not checked since
  SessionSink* sink = nullptr;
  // For sessions that share children.
  std::string greeting;  // params; empty: the client has not greeted, or the params are too long
  std::unique_ptr<BridgedPart> bridged;  // null: none
  // Open requests of children, by the ids that the client sees. Created with the first request,
  // because most sessions never get one.
  std::unique_ptr<Asks> asks;

  [[nodiscard]] bool is_of_client() const { return kind == SessionKind::client; }
  // Tells the client whether its messages are taken, if that is news.
  void set_reading(bool reading) {
    if (!has_ended && std::exchange(reads, reading) != reading) sink->set_reading(reading);
  }
  // Tells the client that the session is over, once.
  void end(SessionEnd how, std::string_view message) {
    if (!std::exchange(has_ended, true)) sink->on_session_end(how, message);
  }
};

}  // namespace stdgate::session
