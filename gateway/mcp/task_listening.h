// TaskListening: calls that listen for changes of tasks (subscriptions/listen with taskIds) which
// run in several children. The client has one stream; each child is told of its own tasks.
//
// The call itself is bound to the child of most of its tasks. For each other child there is a call
// of the gateway's own, whose events go to the client as if the call had got them. The client's
// stream begins when all have been acknowledged, with what all have agreed to; a child that does
// not acknowledge within kPatience is not listened to. Owner: the ClaimFilter; the calls are the
// pool's, and end with the client's. Limits: those of a request that listens, so that there are few
// children; kMaxHeld events, and kMaxHeldBytes in all, before the stream has begun, which its
// client pays for; more are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/timers.h"
#include "gateway/mcp/claim_places.h"
#include "gateway/pool/filter_services.h"
#include "gateway/rpc/json_member.h"

namespace stdgate::mcp {

class TaskListening {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(5);
  static constexpr size_t kMaxHeld = 64;
  static constexpr size_t kMaxHeldBytes = 1 << 20;

  // `owner`: what its events go on from, up the chain.
  TaskListening(const pool::FilterServices& services, const call::Filter& owner);

  // What another child is to be asked.
  struct Part {
    uint64_t child = 0;
    std::string request;
  };
  // A client's call is about to go on that listens at other children too. `payer`: of what is kept.
  void begin(const call::Call& call, std::vector<Part> parts, const Payer& payer);
  // A call has ended: a client's, or one of the gateway's own.
  void end(const call::Call& call) {
    if (!streams_.empty() || !leaving_.empty()) note_end(call);
  }
  // The request of a call that listens, whose child has gone, for another one. Nothing: there is
  // nothing left to listen for.
  [[nodiscard]] std::optional<std::string> without_child(const call::Call& call) const;

  // An event of a call that listens, whose claims are sealed. False: it is its client's as it is.
  bool take_event(const call::Call& call, const rpc::Envelope& event);

  // What makes a request listen for these tasks (elements of an array) instead of its own. `only`:
  // and for nothing else. Nothing: it listens for no tasks.
  static std::optional<TextEdit> with_tasks(const rpc::Envelope& request, std::string_view tasks,
                                            bool only);
  // The ids of tasks that a request listens for, raw. Readers would disagree on them: duplicate.
  static rpc::Member tasks_of(const rpc::Envelope& request);

 private:
  struct Side {
    call::Call* call = nullptr;
    bool is_settled = false;  // its child has acknowledged it
  };
  struct Stream {
    const call::Call* call = nullptr;  // the client's
    std::vector<Side> sides;
    std::optional<std::string> acknowledgement;  // of the call's own child, while others are due
    std::string agreed;                          // tasks of the others: elements of an array
    std::vector<std::string> held;               // events before the stream has begun
    size_t held_bytes = 0;                       // of these, and of `agreed`
    Share memory{{}, Holding::calls};            // of all that
    bool has_begun = false;
    TimePoint due{};  // until then it waits for them
  };
  using Streams = std::map<const call::Call*, Stream>;

  void note_end(const call::Call& call);
  [[nodiscard]] Stream* stream_of(const call::Call& call);
  void submit(Stream& stream, Part part);
  // Whether so much more is kept until the stream begins.
  static bool has_room(const Stream& stream, size_t bytes) {
    return bytes <= kMaxHeldBytes - stream.held_bytes && stream.memory.lack() == MemoryLack::none;
  }
  void note_acknowledged(Stream& stream, const call::Call& call, const rpc::Envelope& event);
  void begin_if_settled(Stream& stream);
  void pass(const Stream& stream, std::string text);
  void end_sides(const std::vector<Side>& sides);
  void look_at_time();
  [[nodiscard]] TimePoint now() const;

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;
  const call::Filter& owner_;
  pool::ChildListener& next_;
  Streams streams_;                                         // by the client's call
  std::map<const call::Call*, const call::Call*> clients_;  // of each call of the gateway's own
  std::vector<call::Call*> leaving_;  // of the gateway's own, about to be taken from the pool
  Timer timer_;                       // no later than the first that is due
};

}  // namespace stdgate::mcp
