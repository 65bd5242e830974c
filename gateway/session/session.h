// A session, the requests that its client has been asked, and the table of the sessions of a
// backend.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/base/check.h"
#include "gateway/base/log.h"
#include "gateway/base/slot_map.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/policy/client.h"
#include "gateway/rpc/correlator.h"
#include "gateway/session/log_verbosity.h"
#include "gateway/session/sinks.h"

namespace stdgate::session {

struct Session;
class Asks;

// Facts about a request that the audit records. Texts are decoded.
struct AskNotes {
  std::string method;
  SessionName session;
  policy::PrincipalRef principal;  // of the client; null: anonymous
  ClientAddress client;
  std::string of_session{};  // see call::Particulars
  std::string title{};
  std::string option{};
};

// Ask: a request of a child that the client has received. The ask ends with that child at the
// latest.
struct Ask {
  uint64_t child = 0;  // number of the child; 0: none
  std::string id;      // raw JSON, as the child wrote it
  uint64_t round = 0;  // not 0: a question of InputRounds, without a child; `id` is its key there
  TimePoint expires = TimePoint::max();  // max(): the ask ends with its round or trip
  TimePoint asked{};
  MethodId method = kOtherMethod;
  std::unique_ptr<AskNotes> notes{};  // null: the audit says nothing
  size_t bytes = 0;                   // of memory, while it is open

  [[nodiscard]] bool has_time() const { return expires != TimePoint::max(); }
};

// AskIndex: the asks of all sessions of a backend by the ids of their children, so that a child's
// cancel finds its request by one look-up. Owner: SessionQuestions.
class AskIndex {
 public:
  // Where an ask is kept: the asks of its session, and its id among them.
  struct Place {
    Asks* asks = nullptr;
    rpc::WireId id = 0;  // as the client sees it
  };

  AskIndex() = default;
  // `on_ended` hears of the end of each request of a child, and must not call back.
  explicit AskIndex(std::function<void(const Ask&, QuestionEnd)> on_ended)
      : on_ended_(std::move(on_ended)) {}
  AskIndex(const AskIndex&) = delete;
  AskIndex& operator=(const AskIndex&) = delete;

  // The request that this child has sent with this id; nothing: none.
  [[nodiscard]] std::optional<Place> find(uint64_t child, std::string_view id) const;
  // Whether `is_it(Place)` holds for one of this child's requests.
  template <class Predicate>
  [[nodiscard]] bool any_of(uint64_t child, Predicate&& is_it) const {
    auto each = entries_.lower_bound(Key{child, {}, 0, nullptr});
    while (each != entries_.end() && each->ask->child == child && !is_it(each->place)) ++each;
    return each != entries_.end() && each->ask->child == child;
  }
  // The child has gone: its requests end.
  void lose_child(uint64_t child);
  [[nodiscard]] size_t size() const { return entries_.size(); }

 private:
  friend class Asks;
  using Key = std::tuple<uint64_t, std::string_view, rpc::WireId, Asks*>;
  struct Entry {
    const Ask* ask;  // does not move
    Place place;
    [[nodiscard]] Key key() const { return {ask->child, ask->id, place.id, place.asks}; }
  };
  struct Less {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const { return a.key() < b.key(); }
    bool operator()(const Entry& a, const Key& b) const { return a.key() < b; }
    bool operator()(const Key& a, const Entry& b) const { return a < b.key(); }
  };

  std::set<Entry, Less> entries_;
  const std::function<void(const Ask&, QuestionEnd)> on_ended_;  // null: nobody
};

// Asks: the requests of children that the client of one session has not answered yet, under the ids
// that the client sees. Owner: the session. Limits: kMaxAsks of a session; the account of its
// client.
class Asks {
 public:
  static constexpr size_t kMaxAsks = 256;

  // `index` and `session` outlive this.
  Asks(AskIndex& index, Session& session);
  ~Asks();
  Asks(const Asks&) = delete;
  Asks& operator=(const Asks&) = delete;

  // Nothing: too many asks are open, or the memory of the client does not suffice.
  std::optional<rpc::WireId> open(Ask ask);
  // `id` must be live.
  Ask close(rpc::WireId id, QuestionEnd end);

  // See the functions of the same names in Correlator.
  Ask* find(rpc::WireId id) { return asks_.find(id); }
  Ask& at(rpc::WireId id) { return asks_.at(id); }
  std::optional<rpc::WireId> oldest() { return asks_.oldest(); }
  std::optional<rpc::WireId> next(rpc::WireId id) { return asks_.next(id); }
  [[nodiscard]] size_t size() const { return asks_.size(); }
  [[nodiscard]] Session& session() const { return session_; }

 private:
  AskIndex& index_;
  Session& session_;
  rpc::Correlator<Ask> asks_;
  Share held_;
};

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

// State that pool::Bridge keeps for a session. Destroyed with the session.
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

// Session: ties the messages of one client together, and holds the requests that it has been asked.
//
// Owner: the session router of a backend, which ends it (SessionRouter::end). Limit: kMaxAsks
// requests of children that its client has not answered yet.
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

// SessionTable: the sessions of one backend, by handle, and how many there are of each kind.
//
// Each kind has a limit of its own, so that clients' sessions and calls that need a session do not
// take each other's room. Owner: the session router. Limits: those given for each kind.
class SessionTable {
 public:
  using Limits = std::array<size_t, kSessionKindCount>;  // by kind

  explicit SessionTable(const Limits& limits)
      : limits_(limits), sessions_(std::accumulate(limits.begin(), limits.end(), size_t{0})) {}

  // A new session. Nothing: the limit of this kind is reached.
  std::optional<SessionId> open(SessionKind kind);
  // The session must be open. Its owner first takes out what the owner owns.
  void close(SessionId id);

  // Null: the session is not open.
  [[nodiscard]] Session* find(SessionId id) { return sessions_.find(id); }
  [[nodiscard]] const Session* find(SessionId id) const { return sessions_.find(id); }
  // Calls visit(SessionId, Session&) for each session. The visitor may close sessions, but not open
  // any.
  template <class Visitor>
  void for_each(Visitor&& visit) {
    sessions_.for_each(visit);
  }
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    sessions_.for_each(visit);
  }
  // See SlotMap.
  template <class Visitor>
  uint32_t for_some(uint32_t from, size_t most, Visitor&& visit) {
    return sessions_.for_some(from, most, visit);
  }
  [[nodiscard]] size_t size(SessionKind kind) const { return counts_[index_of(kind)]; }

 private:
  static size_t index_of(SessionKind kind) { return static_cast<size_t>(kind); }

  const Limits limits_;
  std::array<size_t, kSessionKindCount> counts_{};
  SlotMap<Session> sessions_;
};

}  // namespace stdgate::session
