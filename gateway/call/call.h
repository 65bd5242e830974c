// Call: one request of a client, from its arrival to its answer; and the message that carries it.
//
// Owner: a CallQueue while it waits, then the CallTable of a child. Moves between them as a CallPtr
// (see CallStore); the client is known as a Caller only, a handle that goes stale when the client
// leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/text_place.h"
#include "gateway/base/time.h"
#include "gateway/call/insertion.h"
#include "gateway/call/session_memo.h"
#include "gateway/call/slots.h"
#include "gateway/observer.h"
#include "gateway/rpc/correlator.h"
#include "gateway/session/log_verbosity.h"
#include "gateway/session/session_sink.h"

namespace stdgate::call {

// Where a call is: held by a filter (HeldCalls), in a queue, in the table of a child, or nowhere,
// and then it is about to be answered.
enum class CallPlace : uint8_t { nowhere, held, waiting, in_flight };

// Which child a request is for; by itself any.
struct Route {
  uint64_t child = 0;                // the number of the one that it is for; 0: any
  bool is_bound = false;             // no other one may get it, see Pool; else it comes first
  std::optional<Era> written_for{};  // no other child may get it; nothing: any may

  // `era`: of a child; nothing counts as legacy.
  [[nodiscard]] bool suits(std::optional<Era> era) const {
    return !written_for || *written_for == era.value_or(Era::legacy);
  }
};

struct CallFacts {
  // Of what it calls: see NameFilter. The names are decoded, and live as long as the call.
  MethodId method = kOtherMethod;
  std::string_view method_name;
  std::optional<ToolId> tool;  // set: it calls a tool
  std::string_view tool_name;
  session::Caller caller;      // none: the gateway's own call (a handshake)
  session::SessionId session;  // none: the call stands alone
  session::Tag tag = 0;
  Transport transport = Transport::rpc;
  std::optional<Era> client_era;              // nothing: plain JSON-RPC
  std::optional<Era> child_era;               // of the child that it was given to
  std::string_view revision;                  // see CallRecord; lives as long as the dialect
  std::optional<session::Severity> severity;  // of log messages that a modern client wants with it
  bool needs_modern = false;                  // a legacy child cannot serve it
  bool alone = false;                         // nor can one with other calls: see RoundTrips
  bool resumes = false;                       // see ClientIntent
  bool parked = false;                        // its client has been answered, and may go on with it
  bool listens = false;                       // it stays open, and its events are its purpose
  bool has_begun = false;                     // with that, its client has been told
  uint8_t lists = 0;                          // see ClientIntent
  uint8_t rounds = 0;                         // in which its client has been asked, see InputRounds
  bool wants_events = false;
  bool is_own = false;          // the gateway makes it for a session: it is told of nowhere
  bool cancelled = false;       // the child has been told; once is enough
  bool greets = false;          // see ClientIntent
  bool introduces = false;      // see ClientIntent
  bool cancel_on_send = false;  // its client has cancelled it before it was sent
  SessionMemo memo = SessionMemo::none;  // see ClientIntent
  uint64_t connection = 0;
  SessionName session_name;
  ClientAddress origin;  // of its client
  TimePoint arrived{};
  TimePoint written{};                    // to the child
  TimePoint deadline = TimePoint::max();  // no later than it is due (call_clock.h); max(): none
  Duration timeout{};                     // without a sign of life
  TimePoint heard{};                      // the last sign of life that was of this call alone
  size_t bytes_in = 0;
  uint64_t round = 0;  // in which it waits for its client, see InputRounds; 0: none
  uint64_t child = 0;  // number of the child that it was written to; 0: none yet
  int child_pid = 0;
  Route route;
  size_t kept_bytes = 0;  // of texts that filters keep in their slots
  CallPlace place = CallPlace::nowhere;
  rpc::WireId wire_id = 0;  // in flight: its id at that child
  uint64_t ticket = 0;      // waiting: its place in the queue, see CallQueue; held: see HeldCalls
  // Of the filter of its chain that it is at, see Chain.
  static constexpr uint8_t kBelowAll = UINT8_MAX;
  uint8_t at = kBelowAll;
};

struct Call : CallFacts {
  Call() = default;  // without slots
  explicit Call(const SlotLayout& layout) : slots(layout) {}

  std::string id;              // raw JSON, as the client sent it
  std::string principal;       // of the caller: its name; empty: nobody is known
  std::string progress_token;  // raw JSON, as the client sent it; empty: none
  std::string subscription;    // the key that its session subscribes to with it; empty: none
  std::string memo_text;       // see ClientIntent
  std::string request;         // its text, if it may have to be sent again: InputRounds, listens
  std::string identity;        // of one that has a child alone: who may go on with it
  Share held{{}, Holding::calls};  // of the texts that are kept as long as it lasts
  CallSlots slots;                 // what the filters keep of it

  // The CallIndex's own.
  Call* next = nullptr;
  Call** link = nullptr;  // that points to this; null: in no index
  uint64_t hash = 0;

  // The CallDeadlines' own.
  static constexpr uint32_t kNoPlace = UINT32_MAX;
  uint32_t heap_place = kNoPlace;  // kNoPlace: it is not in the heap
  uint64_t admitted = 0;           // grows from call to call

  // Charges what is kept of its request while a child has it: nothing of most calls.
  void charge(const Payer& payer) {
    const size_t texts = request.size() + memo_text.size() + kept_bytes;
    if (texts == 0) return;
    held.move_to(payer);
    held.set(sizeof(Call) + texts);
  }
  // Whether its deadline, if it has one, is in the heap. Else it would never expire.
  [[nodiscard]] bool is_watched() const {
    return deadline == TimePoint::max() || heap_place != kNoPlace;
  }
};

// A message on its way to a child: its text, the places in it that are rewritten for the child, and
// the members that are inserted.
struct Outgoing {
  static constexpr size_t kMaxInsertions = 1 + EraChanges::kMax;

  std::string_view text;
  TextPlace id;              // replaced by the wire id
  TextPlace progress_token;  // replaced by the same number
  TextPlace replaced;
  std::string_view replacement;         // of `replaced`; outlives the message
  std::span<const Insertion> inserted;  // kMaxInsertions at most; they outlive the message
  bool completes_greeting = false;      // the client's greeting of its own child, see SessionMemory
  bool answered_by_handshake = false;   // the child's handshake result answers it, see Dialect
  bool only_of_legacy = false;          // a modern child is asked all the same
  Account* account = nullptr;           // of its client, which outlives it; null: nobody pays

  // What has to be kept of it while it waits.
  [[nodiscard]] size_t bytes() const {
    size_t bytes = text.size();
    for (const Insertion& insertion : inserted) bytes += insertion.members.size();
    return bytes;
  }
};

}  // namespace stdgate::call
