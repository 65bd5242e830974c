// TaskListening: calls that listen for changes of tasks (subscriptions/listen with taskIds) in
// several children. The client has one stream; each child is asked for its own tasks.
//
// The call itself is bound to the child of most of its tasks. For each other child there is a call
// of the gateway's own, whose events go to the client as if they belonged to the client's call. The
// client's stream begins when all children have acknowledged, with what all have agreed to. A child
// that does not acknowledge within kPatience is left out. Owner: the ClaimFilter; the calls are the
// pool's, and end with the client's call. Limits: the limits of a request that listens, so there
// are few children. Before the stream has begun, kMaxHeld events, and kMaxHeldBytes in all, which
// the client pays for; more events are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/time.h"
#include "gateway/mcp/claims.h"
#include "gateway/pool/pool_services.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::mcp {

class TaskListening {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(5);
  static constexpr size_t kMaxHeld = 64;
  static constexpr size_t kMaxHeldBytes = 1 << 20;

  // `owner`: events continue up the chain from this filter.
  TaskListening(const pool::FilterServices& services, const call::Filter& owner);

  // The request for one other child.
  struct Part {
    uint64_t child = 0;
    std::string request;
  };
  // A client's call that listens at other children too is about to pass. `payer`: pays for held
  // events.
  void begin(const call::Call& call, std::vector<Part> parts, const Payer& payer);
  // A call has ended, a client's or one of the gateway's own.
  void end(const call::Call& call) {
    if (!streams_.empty() || !leaving_.empty()) note_end(call);
  }
  // The request of a call that listens, without the tasks of its child, which has gone. Nothing: no
  // other wish is left.
  [[nodiscard]] std::optional<std::string> without_child(const call::Call& call) const;

  // An event of a call that listens, with its claims sealed. False: the event passes unchanged.
  bool take_event(const call::Call& call, const rpc::Envelope& event);

  // An edit that makes a request listen for these tasks (elements of an array) in place of its own.
  // `only`: and for nothing else. Nothing: the request listens for no tasks.
  static std::optional<TextEdit> with_tasks(const rpc::Envelope& request, std::string_view tasks,
                                            bool only);
  // The ids of tasks that a request listens for, raw. `duplicate`: readers could see different ids.
  static rpc::Member tasks_of(const rpc::Envelope& request);

 private:
  struct Side {
    call::Call* call = nullptr;
    bool is_settled = false;  // the child has acknowledged
  };
  struct Stream {
    const call::Call* call = nullptr;  // the client's
    std::vector<Side> sides;
    std::optional<std::string> acknowledgement;  // of the call's own child, until all are settled
    std::string agreed;                // tasks that other children agreed to: elements of an array
    std::vector<std::string> held;     // events before the stream has begun
    size_t held_bytes = 0;             // size of `held` and `agreed`
    Share memory{{}, Holding::calls};  // of acknowledgement, agreed and held
    bool has_begun = false;
    TimePoint due{};  // when the stream begins without the missing children
  };
  using Streams = std::map<const call::Call*, Stream>;

  void note_end(const call::Call& call);
  [[nodiscard]] Stream* stream_of(const call::Call& call);
  void submit(Stream& stream, Part part);
  // Whether this many more bytes may be kept until the stream begins.
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
  pool::ChildMessages& next_;
  Streams streams_;                                         // by the client's call
  std::map<const call::Call*, const call::Call*> clients_;  // by the gateway's own call
  std::vector<call::Call*> leaving_;  // the gateway's own, about to leave the pool
  Timer timer_;                       // due no later than the first stream
};

}  // namespace stdgate::mcp
