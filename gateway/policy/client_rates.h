// ClientRates: a token bucket for each client that has used some of its own.
//
// Owner: the object that has the limit. Time is passed in. Limit: kMaxClients buckets; a bucket
// that has filled up again is dropped first, which changes nothing, then the one used least
// recently. Clients without an address are not limited.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>

#include "gateway/base/client_address.h"
#include "gateway/policy/token_bucket.h"

namespace stdgate::policy {

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

}  // namespace stdgate::policy
