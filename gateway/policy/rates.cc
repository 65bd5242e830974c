#include "gateway/policy/rates.h"

namespace stdgate::policy {

Duration ClientRates::wait(const ClientAddress& client, TimePoint now) {
  if (!is_limited(client)) return Duration::zero();
  const auto found = buckets_.find(client.key());
  return found == buckets_.end() ? Duration::zero() : found->second->bucket.wait(size_, now);
}

void ClientRates::use(const ClientAddress& client, TimePoint now) {
  if (!is_limited(client)) return;
  const ClientAddress key = client.key();
  const auto found = buckets_.find(key);
  if (found != buckets_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
  } else {
    make_room(now);
    entries_.push_front({key, TokenBucket(size_, now)});
    buckets_.emplace(key, entries_.begin());
  }
  entries_.front().bucket.take(size_, now);
}

// Buckets do not fill in order of use, but the least recently used one is most likely full.
void ClientRates::make_room(TimePoint now) {
  while (!entries_.empty() &&
         (buckets_.size() >= kMaxClients || entries_.back().bucket.is_full(size_, now))) {
    buckets_.erase(entries_.back().client);
    entries_.pop_back();
  }
}

}  // namespace stdgate::policy
