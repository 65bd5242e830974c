// Rates: how many events there may be in a time (TokenBucket), for each client (ClientRates), and
// whether bytes come fast enough (RateWindow).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "gateway/base/addresses.h"
#include "gateway/base/time.h"

namespace stdgate::policy {

// TokenBucket: a burst of events at once, and a number of events a second in the long run.
//
// A value without a clock: the time is passed in. It begins full.
struct BucketSize {
  double per_second = 0;
  double burst = 0;  // tokens of a full bucket, at least 1
};

class TokenBucket {
 public:
  TokenBucket(const BucketSize& size, TimePoint now) : tokens_(size.burst), at_(now) {}

  // Takes a token. False: the bucket is empty.
  bool take(const BucketSize& size, TimePoint now) {
    fill(size, now);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  // Time until a token is there; zero: one is.
  [[nodiscard]] Duration wait(const BucketSize& size, TimePoint now) {
    fill(size, now);
    if (tokens_ >= 1) return Duration::zero();
    const std::chrono::duration<double> seconds((1 - tokens_) / size.per_second);
    return std::chrono::ceil<Duration>(seconds);
  }
  // Indistinguishable from an unused one.
  [[nodiscard]] bool is_full(const BucketSize& size, TimePoint now) {
    fill(size, now);
    return tokens_ >= size.burst;
  }

 private:
  void fill(const BucketSize& size, TimePoint now) {
    if (now <= at_) return;
    const std::chrono::duration<double> passed = now - at_;
    tokens_ = std::min(size.burst, tokens_ + passed.count() * size.per_second);
    at_ = now;
  }

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
  // As begin(), for a count that is expensive to read: it is first read after half of the first
  // window, and judged over the other half.
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
  bool is_slow(TimePoint now, Duration patience, size_t per_second, Count&& count) {
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

}  // namespace stdgate::policy
