// HeldCalls: the calls in the hands of filters, until the filter lets them go or their time is up.
//
// A call is held with its request (Chain::hold), which goes on to the filters below, or kept
// without it (Chain::keep): then its filter answers it, or sends another request. Either call stays
// in the index of calls, and ends with its client like any other call; the filter need not care for
// that. Owner: the chain. Limits: for calls with a request, the limits of a pool's queue
// (config.pool.queue calls, config.pool.queue_bytes of their texts); others are bounded by their
// filters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/call/filter.h"
#include "gateway/config/config.h"

namespace stdgate::call {

// A request with its own copy of all that it refers to, except what a transport has read of the
// params (CallContext::params).
class KeptRequest {
 public:
  explicit KeptRequest(const Request& request);
  KeptRequest(const KeptRequest&) = delete;
  KeptRequest& operator=(const KeptRequest&) = delete;

  [[nodiscard]] Request request() const { return {message_, method_, intent_, context_}; }
  // Whether the request is this one, not a copy of it.
  [[nodiscard]] bool is(const Request& request) const { return &request.message == &message_; }
  [[nodiscard]] size_t bytes() const { return text_.size(); }
  // The memory that is kept, for the client's account.
  [[nodiscard]] size_t memory() const;

 private:
  const std::string text_;
  const std::string method_;
  rpc::Envelope message_;
  ClientIntent intent_;
  CallContext context_;
  std::optional<policy::Principal> principal_;
  std::optional<ClientAddress> client_;
  std::optional<TraceContext> trace_;
  std::string mirrored_;
};

class HeldCalls {
 public:
  // A call in a filter's hands.
  struct Held {
    CallPtr call;
    std::unique_ptr<KeptRequest> request;  // null: the call is kept without it
    TimePoint until{};                     // with a request, not after the deadline of the call
    Share memory{};                        // of the request
  };
  struct Services {
    CallStore& calls;
    const config::PoolConfig& config;
    const Clock& clock;
    TimerQueue& timers;
    HeldBytes* held;  // counts the bytes that are kept here; null: not counted
  };
  // `on_due`: the time of a call is up, by its deadline or by its filter.
  HeldCalls(const Services& services, std::function<void(Held)> on_due);

  [[nodiscard]] bool has_room(size_t bytes) const {
    return requests_ < services_.config.queue && bytes_ + bytes <= services_.config.queue_bytes;
  }
  // Only while has_room().
  void hold(CallPtr call, const Request& request, TimePoint until);
  // Holds a call again with the request that it had before.
  void hold(Held held, TimePoint until);
  // `until`: max(): the call may stay.
  void keep(CallPtr call, TimePoint until);
  // The first call with a request that the filter at this place holds and that came after the
  // ticket `last`; null: none.
  [[nodiscard]] const Call* next_at(uint8_t place, uint64_t last) const;
  // The call must be here.
  Held take(const Call& call);
  // The client's call with this id; null: it is not held.
  CallPtr take(session::Caller caller, std::string_view id);
  std::vector<CallPtr> take_all(const std::function<bool(const Call&)>& matches);

  [[nodiscard]] size_t size() const { return held_.size(); }
  // Calls with a request.
  [[nodiscard]] size_t requests() const { return requests_; }
  // The ticket of the latest call.
  [[nodiscard]] uint64_t last() const { return begun_; }
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& [ticket, held] : held_) visit(*held.call);
  }

 private:
  using Table = std::map<uint64_t, Held>;

  void add(Held held);
  Held take_out(Table::iterator held);
  void look_at_time();

  const Services services_;
  const std::function<void(Held)> on_due_;
  Table held_;  // by Call::ticket, in the order of arrival
  uint64_t begun_ = 0;
  size_t requests_ = 0;                           // calls that are held with one
  size_t bytes_ = 0;                              // of the texts of these
  std::set<std::pair<TimePoint, uint64_t>> due_;  // until when, and the ticket
  Timer timer_;                                   // due no later than the first of them
};

}  // namespace stdgate::call
