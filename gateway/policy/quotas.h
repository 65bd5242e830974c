// Quotas: how many calls are made in a time and are under way, of all clients (CallQuota) and of
// each (ClientQuotas).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <tl/expected.hpp>
#include <unordered_map>

#include "gateway/base/check.h"
#include "gateway/config/config.h"
#include "gateway/policy/client.h"
#include "gateway/policy/rates.h"

namespace stdgate::policy {

// CallQuota: how many calls of all clients are made in a time, and are under way.
//
// Owner: a backend for its own calls, the worker for the calls of all backends. Time is passed in.

// The bucket's size by the configured `rate` and `burst`.
template <class Limits>
BucketSize bucket_size(const Limits& limits) {
  const std::chrono::duration<double> per = limits.rate.per;
  const double burst = limits.burst > 0 ? limits.burst : limits.rate.count;
  return {limits.rate.count / per.count(), burst};
}

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

}  // namespace stdgate::policy
