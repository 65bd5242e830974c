// A call of a client, the slots in which filters keep their state of it, and its clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/check.h"
#include "gateway/base/text.h"
#include "gateway/base/time.h"
#include "gateway/call/call_context.h"
#include "gateway/call/insertion.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/fault.h"
#include "gateway/session/log_verbosity.h"
#include "gateway/session/sinks.h"

namespace stdgate::call {

// --- Slots: the states that filters keep of a call, each filter its own
//
// A filter reserves its slot when the chain is built. So the storage of a call has room for all
// slots from the beginning, and the steady state allocates nothing. A used slot is reset when the
// storage of the call is given back; an unused slot costs nothing.

template <class T>
class Slot;

// SlotLayout: the slots that filters have reserved, and how their states are made, reset and
// destroyed. Owner: the CallStore. Limit: kMaxSlots.
class SlotLayout {
 public:
  static constexpr size_t kMaxSlots = 32;

  SlotLayout() = default;
  SlotLayout(const SlotLayout&) = delete;
  SlotLayout& operator=(const SlotLayout&) = delete;

  // Each call begins with a fresh `T`. If `T` has clear(), it resets the state and may keep
  // storage.
  template <class T>
  Slot<T> reserve();

 private:
  friend class CallSlots;

  struct Kind {
    size_t offset = 0;
    void (*make)(std::byte* at) = nullptr;
    void (*clear)(std::byte* at) = nullptr;
    void (*destroy)(std::byte* at) = nullptr;
  };

  std::vector<Kind> kinds_;
  size_t bytes_ = 0;
};

// CallSlots: the slots of one call. Owner: the call.
class CallSlots {
 public:
  CallSlots() = default;  // without slots
  explicit CallSlots(const SlotLayout& layout);
  ~CallSlots();
  CallSlots(const CallSlots&) = delete;
  CallSlots& operator=(const CallSlots&) = delete;

  // Resets the used slots.
  void clear() {
    if (used_ != 0) clear_used();
  }
  // Moves the state to another call, which has used no slot.
  void move_to(CallSlots& other) {
    std::swap(bytes_, other.bytes_);
    std::swap(used_, other.used_);
  }

 private:
  template <class T>
  friend class Slot;

  void clear_used();

  const SlotLayout* layout_ = nullptr;
  std::unique_ptr<std::byte[]> bytes_;  // NOLINT(modernize-avoid-c-arrays): of a size that varies
  uint32_t used_ = 0;                   // one bit per slot
};

// The object that a layout has constructed at this address.
template <class T>
T& state_at(std::byte* at) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  return *std::launder(reinterpret_cast<T*>(at));
}

// The place of one filter's state in the slots of any call.
template <class T>
class Slot {
 public:
  // Marks the slot as used.
  T& of(CallSlots& slots) const {
    slots.used_ |= bit_;
    return *at(slots);
  }
  // Null: the filter has not used the slot in this call.
  [[nodiscard]] T* find(const CallSlots& slots) const {
    return (slots.used_ & bit_) != 0 ? at(slots) : nullptr;
  }

 private:
  friend class SlotLayout;

  Slot(size_t offset, size_t number) : offset_(offset), bit_(uint32_t{1} << number) {}
  [[nodiscard]] T* at(const CallSlots& slots) const {
    return &state_at<T>(slots.bytes_.get() + offset_);
  }

  size_t offset_;
  uint32_t bit_;
};

template <class T>
Slot<T> SlotLayout::reserve() {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  STDGATE_CHECK(kinds_.size() < kMaxSlots);
  const size_t offset = (bytes_ + alignof(T) - 1) / alignof(T) * alignof(T);
  const auto clear = [](std::byte* at) {
    if constexpr (requires(T & state) { state.clear(); }) {
      state_at<T>(at).clear();
    } else {
      state_at<T>(at) = T();
    }
  };
  kinds_.push_back({offset, [](std::byte* at) { new (at) T(); }, clear,
                    [](std::byte* at) { state_at<T>(at).~T(); }});
  bytes_ = offset + sizeof(T);
  return Slot<T>(offset, kinds_.size() - 1);
}

// Where a call is: held by a filter (HeldCalls), in a queue, in flight at a child or at a member of
// a virtual server, or nowhere, which means that it is about to be answered.
enum class CallPlace : uint8_t { nowhere, held, waiting, in_flight };

// Which child may get a request; by default any.
struct Route {
  uint64_t child = 0;     // number of the child that gets it; 0: any
  bool is_bound = false;  // whether no other child may get it; if not, `child` is preferred
  std::optional<PeerKind> written_for{};  // the only kind that it fits; nothing: any

  // `peer_kind`: of a child; nothing counts as stateful.
  [[nodiscard]] bool suits(std::optional<PeerKind> peer_kind) const {
    return !written_for || *written_for == peer_kind.value_or(PeerKind::stateful);
  }
};

// The members of a Call that can be copied and reset as one block of memory.
struct CallFacts {
  // Names of the method and the tool, see NameFilter. Decoded; they live as long as the call.
  MethodId method = kOtherMethod;
  std::string_view method_name;
  std::optional<ToolId> tool;  // set: it calls a tool
  std::string_view tool_name;
  session::Caller caller;      // none: upkeep of a child, see pool::CallTable
  session::SessionId session;  // none: the call stands alone
  session::Tag tag = 0;
  Transport transport = Transport::rpc;
  std::optional<PeerKind> client_kind;        // nothing: plain JSON-RPC
  std::optional<PeerKind> child_kind;         // of the child that got it
  std::string_view revision;                  // see CallRecord; lives as long as the dialect
  std::optional<session::Severity> severity;  // of log messages, as a stateless client wants
  bool needs_stateless = false;               // a stateful child cannot serve it
  bool alone = false;      // it needs a child without other calls: see RoundTrips
  bool listens = false;    // it stays open, and is made for its events
  bool has_begun = false;  // its client has been told that listening has begun
  bool wants_events = false;
  bool is_own = false;          // the gateway makes it, for a session or all: it is not reported
  bool cancelled = false;       // the child has been told once
  bool greets = false;          // see ClientIntent
  bool introduces = false;      // see ClientIntent
  bool cancel_on_send = false;  // its client has cancelled it before it was sent
  CallPlace place = CallPlace::nowhere;
  // Place of the filter in whose hands it is, see Chain.
  static constexpr uint8_t kBelowAll = UINT8_MAX;
  uint8_t at = kBelowAll;
  uint64_t connection = 0;
  SessionName session_name;
  ClientAddress origin;  // of the client
  TimePoint arrived{};
  TimePoint written{};                    // when it was written to the child
  TimePoint deadline = TimePoint::max();  // not after due_after(); max(): none
  Duration timeout{};                     // longest time without a sign of life
  TimePoint heard{};                      // the last sign of life of this call alone
  size_t bytes_in = 0;
  uint64_t child = 0;  // number of the child that it was written to; 0: none yet
  int child_pid = 0;
  rpc::WireId wire_id = 0;  // in flight: its id at that child
  Route route;
  size_t kept_bytes = 0;  // texts in the slots of filters
  uint64_t ticket = 0;    // waiting: its place in the queue, see CallQueue; held: see HeldCalls
};

class CallStore;

// Call: one request of a client, from its arrival to its answer.
//
// Owner: HeldCalls or a CallQueue while it waits, then the CallTable of a child, or the MemberCalls
// of a virtual server. A call moves between them as a CallPtr (see CallStore). The client is known
// only as a Caller, a handle that goes stale when the client leaves.
struct Call : CallFacts {
  Call() = default;  // without slots
  Call(CallStore& giver, const SlotLayout& layout) : slots(layout), store(&giver) {}

  std::string id;                  // raw JSON, as the client sent it
  std::string principal;           // name of the caller; empty: anonymous
  std::string progress_token;      // raw JSON, as the client sent it; empty: none
  std::string greeting;            // params of the session's greeting; empty: it is none
  std::string request;             // its text, if it may be sent again: InputRounds, listens
  std::string identity;            // policy::identity_of(), where a filter needs it
  Share held{{}, Holding::calls};  // the texts that are kept during the call
  CallSlots slots;                 // state of the filters
  CallStore* store = nullptr;      // gave out the call, and takes it back

  // The CallIndex's own.
  Call* next = nullptr;
  Call** link = nullptr;  // the pointer to this; null: in no index
  uint64_t hash = 0;

  // The CallDeadlines' own.
  static constexpr uint32_t kNoPlace = UINT32_MAX;
  uint32_t heap_place = kNoPlace;  // kNoPlace: not in the heap
  uint64_t admitted = 0;           // grows from call to call

  // Charges the texts that are kept while a child has the call. Most calls have none.
  void charge(const Payer& payer) {
    if (kept_texts() == 0) return;
    held.move_to(payer);
    held.set(sizeof(Call) + kept_texts());
  }
  [[nodiscard]] size_t kept_texts() const { return request.size() + greeting.size() + kept_bytes; }
  // Whether its deadline, if any, is in the heap. Otherwise the call would never expire.
  [[nodiscard]] bool is_watched() const {
    return deadline == TimePoint::max() || heap_place != kNoPlace;
  }
};

// Outgoing: a message on its way to a child: its text, the places that are rewritten for the child,
// and the members that are inserted.
struct Outgoing {
  static constexpr size_t kMaxInsertions = 1 + PeerChanges::kMax;

  Outgoing() = default;
  // The message as it is, but for its id.
  explicit Outgoing(const rpc::Envelope& message)
      : text(message.text), id(place_of(message.id, message.text)) {}

  std::string_view text;
  TextPlace id;              // replaced by the wire id
  TextPlace progress_token;  // replaced by the wire id too
  TextPlace replaced;
  std::string_view replacement;         // of `replaced`; outlives the message
  std::span<const Insertion> inserted;  // kMaxInsertions at most; they outlive the message
  bool completes_greeting = false;      // of the client with its own child, see SessionMemory
  bool answered_by_handshake = false;   // the answer to the handshake serves, see Dialect
  bool only_of_stateful = false;        // see ClientIntent
  Account* account = nullptr;           // of the client; outlives the message; null: no client pays

  // Bytes that have to be kept while the message waits.
  [[nodiscard]] size_t bytes() const {
    size_t bytes = text.size();
    for (const Insertion& insertion : inserted) bytes += insertion.members.size();
    return bytes;
  }
};

// --- The clock of a call: when the call is given up, and what its client is told
//
// A call is due Call::timeout after its last sign of life, and at the latest
// BackendConfig::max_time after its arrival. Signs of life are stored where they are noticed
// (Call::heard, SignsOfLife::heard()); no timer moves. When the deadline of a call passes,
// CallExpiry checks for later signs of life, and moves the deadline if there were any. So a sign of
// life costs one store, and a call that reports all the time is checked once in each timeout.

// The end of a call even with signs of life.
inline TimePoint latest_end(const Call& call, const config::BackendConfig& config) {
  return call.arrived + config.max_time;
}
// When a call with its last sign of life at `heard` is due.
inline TimePoint due_after(const Call& call, TimePoint heard, const config::BackendConfig& config) {
  return std::min(heard + call.timeout, latest_end(call, config));
}

// The clock starts at the call's arrival, which has to be set. Call::heard stays as it is.
inline void start_clock(Call& call, Duration timeout, const config::BackendConfig& config) {
  call.timeout = timeout;
  call.deadline = due_after(call, call.arrived, config);
}

// The fault of a call that is due. `heard`: its last sign of life. `place`: where the call waited.
rpc::FaultReport gave_up(const Call& call, CallPlace place, TimePoint heard,
                         const config::BackendConfig& config);
// How long a question waits for its client. One that may be away for longer finds it again.
inline Duration question_time(const config::BackendConfig& config, Duration input_timeout) {
  return std::max(input_timeout, config.linger);
}
// The fault of a question to a client that was not answered within question_time().
rpc::FaultReport gave_up_question(const config::BackendConfig& config, Duration input_timeout);

}  // namespace stdgate::call
