// Limits on what clients do: events in a time, bytes in a time, calls and connections at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <tl/expected.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gateway/base/addresses.h"
#include "gateway/base/check.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/policy/client.h"

namespace stdgate::policy {

// --- Rates: of events (TokenBucket), of each client's events (ClientRates), and of bytes
// (RateWindow)

// The long-run rate and the burst of a TokenBucket.
struct BucketSize {
  double per_second = 0;
  double burst = 0;  // tokens of a full bucket, at least 1
};

// TokenBucket: a burst of events at once, and a number of events a second in the long run.
//
// A value without a clock: the time is passed in. It begins full.
class TokenBucket {
 public:
  TokenBucket(const BucketSize& size, TimePoint now) : tokens_(size.burst), at_(now) {}

  // Takes a token. False: the bucket is empty.
  bool take(const BucketSize& size, TimePoint now);
  // Time until a token is there; zero: one is.
  [[nodiscard]] Duration wait(const BucketSize& size, TimePoint now);
  // Indistinguishable from an unused one.
  [[nodiscard]] bool is_full(const BucketSize& size, TimePoint now) {
    fill(size, now);
    return tokens_ >= size.burst;
  }

 private:
  void fill(const BucketSize& size, TimePoint now);

  double tokens_;
  TimePoint at_;  // that tokens_ is about
};

// ClientRates: a token bucket for each client that has used some of its own.
//
// Owner: the object that has the limit. Time is passed in. Limit: kMaxClients buckets; a bucket
// that has filled up again is dropped first, which changes nothing, then the one used least
// recently. Clients without an address are not limited.
class ClientRates {
 public:
  static constexpr size_t kMaxClients = 8192;

  // `per_second` zero: no limit.
  ClientRates(double per_second, double burst) : size_{per_second, burst} {}
  // Buckets keep what they have, up to the new burst.
  void set_rate(double per_second, double burst) { size_ = {per_second, burst}; }
  ClientRates(const ClientRates&) = delete;
  ClientRates& operator=(const ClientRates&) = delete;

  // How long `client` has to wait for its next event; zero: it may go ahead.
  [[nodiscard]] Duration wait(const ClientAddress& client, TimePoint now);
  // Counts an event of `client`.
  void use(const ClientAddress& client, TimePoint now);

  [[nodiscard]] size_t size() const { return buckets_.size(); }

 private:
  struct Entry {
    ClientAddress client;  // its key()
    TokenBucket bucket;
  };
  using Entries = std::list<Entry>;

  [[nodiscard]] bool is_limited(const ClientAddress& client) const {
    return size_.per_second > 0 && !client.is_none();
  }
  void make_room(TimePoint now);

  BucketSize size_;
  Entries entries_;  // the one used last comes first
  std::unordered_map<ClientAddress, Entries::iterator, ClientAddressHash> buckets_;
};

// RateWindow: whether a count of bytes grows fast enough, checked once per window.
//
// A value without a clock: time and count are passed in, by a timer of the owner and not with each
// byte. A window is `patience` long; in it the count has to grow by `per_second` for each second of
// it, and by one at least.
class RateWindow {
 public:
  // Begins a window: `count` is the present value, which has to grow.
  void begin(TimePoint now, uint64_t count) {
    state_ = State::judging;
    since_ = now;
    count_ = count;
  }
  // Begins a window for a count that is expensive to read: the count is first read after half of
  // the first window, and judged over the other half.
  void begin_later(TimePoint now) {
    state_ = State::waiting;
    since_ = now;
  }
  // When to look again.
  [[nodiscard]] TimePoint due(Duration patience) const {
    return since_ + (state_ == State::judging ? patience : patience / 2);
  }
  // Whether a window has ended by `now` and was too slow; one that was fast enough begins the next.
  // `count()` is called only when a window has ended.
  template <class Count>
  bool is_slow(TimePoint now, Duration patience, size_t per_second, Count&& count);

 private:
  enum class State : uint8_t { waiting, second_half, judging };

  static uint64_t needed(Duration passed, size_t per_second) {
    const std::chrono::duration<double> seconds = passed;
    return std::max<uint64_t>(
        1, static_cast<uint64_t>(seconds.count() * static_cast<double>(per_second)));
  }

  TimePoint since_{};
  uint64_t count_ = 0;  // at since_
  State state_ = State::waiting;
};

template <class Count>
bool RateWindow::is_slow(TimePoint now, Duration patience, size_t per_second, Count&& count) {
  if (now < due(patience)) return false;
  const uint64_t reached = count();
  if (state_ != State::waiting && reached - count_ < needed(now - since_, per_second)) {
    return true;
  }
  state_ = state_ == State::waiting ? State::second_half : State::judging;
  since_ = now;
  count_ = reached;
  return false;
}

// --- Quotas: how many calls are made in a time and are under way, of all clients (CallQuota) and
// of each (ClientQuotas)

// The size of a bucket by the configured `rate` and `burst`.
template <class Limits>
BucketSize bucket_size(const Limits& limits) {
  const std::chrono::duration<double> per = limits.rate.per;
  const double burst = limits.burst > 0 ? limits.burst : limits.rate.count;
  return {limits.rate.count / per.count(), burst};
}

// CallQuota: how many calls of all clients are made in a time, and are under way.
//
// Owner: a backend for its own calls, the worker for the calls of all backends. Time is passed in.
class CallQuota {
 public:
  explicit CallQuota(const config::CallLimits& limits)
      : limits_(limits), size_(bucket_size(limits)), bucket_(size_, TimePoint{}) {}
  CallQuota(const CallQuota&) = delete;
  CallQuota& operator=(const CallQuota&) = delete;

  [[nodiscard]] bool any() const { return limits_.rate.count > 0 || limits_.in_flight > 0; }
  // Whether the limit of calls under way is reached.
  [[nodiscard]] bool is_full() const {
    return limits_.in_flight > 0 && in_flight_ >= limits_.in_flight;
  }
  // How long the next call has to wait for its turn; zero: it may begin.
  [[nodiscard]] Duration wait(TimePoint now) {
    return limits_.rate.count > 0 ? bucket_.wait(size_, now) : Duration::zero();
  }
  void begin(TimePoint now) {
    if (limits_.rate.count > 0) bucket_.take(size_, now);
    ++in_flight_;
  }
  void end() {
    STDGATE_CHECK(in_flight_ > 0);
    --in_flight_;
  }

 private:
  const config::CallLimits limits_;
  const BucketSize size_;
  TokenBucket bucket_;
  size_t in_flight_ = 0;
};

// Why a call is refused.
struct QuotaRefusal {
  enum class Reason : uint8_t {
    rate,
    in_flight,
    clients,  // too many have calls under way to count another one
  };
  enum class Whose : uint8_t { client, backend, gateway };
  Reason reason = Reason::rate;
  Whose whose = Whose::client;
  Duration wait{0};  // rate: until there is room
};

// ClientQuotas: how many calls each client of one backend makes in a time, and has under way; and
// how many all clients together, at this backend and at all backends.
//
// Clients are told apart by their ClientKey; a client without one counts only among all. Owner: a
// backend. Time is passed in. Limit: kMaxClients known clients. A client with calls under way
// stays. Among the others, the one whose last call ended or was refused longest ago goes first.
// Allocates nothing for a client that is known.
class ClientQuotas {
 public:
  static constexpr size_t kMaxClients = 8192;
  class Client;

  // `in_all`: of all backends, outlives it; null: there is no such limit.
  explicit ClientQuotas(const config::ClientLimits& limits, const config::CallLimits& together = {},
                        CallQuota* in_all = nullptr);
  ~ClientQuotas();
  ClientQuotas(const ClientQuotas&) = delete;
  ClientQuotas& operator=(const ClientQuotas&) = delete;

  // Whether any call may be refused; else begin_call() is not to be asked.
  [[nodiscard]] bool any() const {
    return limits_each() || together_.any() || (in_all_ != nullptr && in_all_->any());
  }
  // Counts a call of the client, which stays known until end_call().
  tl::expected<Client*, QuotaRefusal> begin_call(const ClientRef& client, TimePoint now);
  void end_call(Client& client);

  [[nodiscard]] size_t clients() const { return idle_.size() + busy_.size(); }
  [[nodiscard]] size_t in_flight() const { return in_flight_; }  // calls of all clients

 private:
  using Clients = std::list<Client>;

  [[nodiscard]] bool limits_each() const { return limits_.rate.count > 0 || limits_.in_flight > 0; }
  [[nodiscard]] std::optional<QuotaRefusal> refuse_together(TimePoint now);
  // Null: there is no room for it.
  Client* find_or_add(const ClientRef& client, TimePoint now);
  bool make_room();

  const config::ClientLimits limits_;
  const BucketSize size_;
  CallQuota together_;
  CallQuota* const in_all_;
  Clients nobody_;  // one entry, for clients that are not told apart
  // Clients without calls under way, the one used last first; and the others, which cannot be
  // forgotten.
  Clients idle_;
  Clients busy_;
  std::unordered_map<ClientKey, Clients::iterator, ClientHash, ClientEqual> places_;
  size_t in_flight_ = 0;
};

// ClientCounts: how many connections (or the like) each client has open.
//
// Owner: the object that has the limit. Limit: one entry for each client with something open, so at
// most as many as the owner has open in all. Clients without an address and Unix peers are not
// counted. Clients in `unlimited` blocks are counted, as the blocks may change, but have no limit.
class ClientCounts {
 public:
  ClientCounts(size_t most, std::vector<AddressBlock> unlimited)
      : most_(most), unlimited_(std::move(unlimited)) {}
  // Holds for connections to come.
  void set_limits(size_t most, std::vector<AddressBlock> unlimited) {
    most_ = most;
    unlimited_ = std::move(unlimited);
  }
  ClientCounts(const ClientCounts&) = delete;
  ClientCounts& operator=(const ClientCounts&) = delete;

  // Counts one more, unless `client` has as many as it may have.
  bool add(const ClientAddress& client);
  // A connection that add() counted has ended.
  void remove(const ClientAddress& client);
  [[nodiscard]] size_t count(const ClientAddress& client) const;
  [[nodiscard]] size_t clients() const { return counts_.size(); }

 private:
  [[nodiscard]] bool is_limited(const ClientAddress& client) const;

  size_t most_;
  std::vector<AddressBlock> unlimited_;
  std::unordered_map<ClientAddress, size_t, ClientAddressHash> counts_;  // by key(); none is 0
};

}  // namespace stdgate::policy
