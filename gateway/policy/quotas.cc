#include "gateway/policy/quotas.h"

#include <algorithm>

#include "gateway/base/check.h"

namespace stdgate::policy {

bool TokenBucket::take(const BucketSize& size, TimePoint now) {
  fill(size, now);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

Duration TokenBucket::wait(const BucketSize& size, TimePoint now) {
  fill(size, now);
  if (tokens_ >= 1) return Duration::zero();
  const std::chrono::duration<double> seconds((1 - tokens_) / size.per_second);
  return std::chrono::ceil<Duration>(seconds);
}

void TokenBucket::fill(const BucketSize& size, TimePoint now) {
  if (now <= at_) return;
  const std::chrono::duration<double> passed = now - at_;
  tokens_ = std::min(size.burst, tokens_ + passed.count() * size.per_second);
  at_ = now;
}

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

class ClientQuotas::Client {
 public:
  Client(ClientKey known_by, const BucketSize& size, TimePoint now)
      : key(std::move(known_by)), bucket(size, now) {}

  const ClientKey key;
  TokenBucket bucket;
  size_t in_flight = 0;
  Clients::iterator place{};  // in idle_ or busy_; none of nobody_'s
};

ClientQuotas::ClientQuotas(const config::ClientLimits& limits, const config::CallLimits& together,
                           CallQuota* in_all)
    : limits_(limits), size_(bucket_size(limits)), together_(together), in_all_(in_all) {
  nobody_.emplace_front(ClientKey{}, size_, TimePoint{});
}

ClientQuotas::~ClientQuotas() = default;

tl::expected<ClientQuotas::Client*, QuotaRefusal> ClientQuotas::begin_call(const ClientRef& client,
                                                                           TimePoint now) {
  using Reason = QuotaRefusal::Reason;
  if (auto refusal = refuse_together(now)) return tl::unexpected(*refusal);
  const bool is_limited = limits_each() && !client.is_anybody();
  Client* const known = is_limited ? find_or_add(client, now) : &nobody_.front();
  if (known == nullptr) return tl::unexpected(QuotaRefusal{.reason = Reason::clients});
  if (is_limited && limits_.in_flight > 0 && known->in_flight >= limits_.in_flight) {
    return tl::unexpected(QuotaRefusal{.reason = Reason::in_flight});
  }
  if (is_limited && limits_.rate.count > 0 && !known->bucket.take(size_, now)) {
    return tl::unexpected(
        QuotaRefusal{.reason = Reason::rate, .wait = known->bucket.wait(size_, now)});
  }
  if (known->in_flight++ == 0 && is_limited) busy_.splice(busy_.begin(), idle_, known->place);
  ++in_flight_;
  together_.begin(now);
  if (in_all_ != nullptr) in_all_->begin(now);
  return known;
}

// The limits of all come first: a call that they refuse costs its client nothing.
std::optional<QuotaRefusal> ClientQuotas::refuse_together(TimePoint now) {
  using Reason = QuotaRefusal::Reason;
  using Whose = QuotaRefusal::Whose;
  for (const auto& [quota, whose] :
       {std::pair(&together_, Whose::backend), std::pair(in_all_, Whose::gateway)}) {
    if (quota == nullptr) continue;
    if (quota->is_full()) return QuotaRefusal{.reason = Reason::in_flight, .whose = whose};
    const Duration wait = quota->wait(now);
    if (wait > Duration::zero()) return QuotaRefusal{Reason::rate, whose, wait};
  }
  return std::nullopt;
}

void ClientQuotas::end_call(Client& client) {
  STDGATE_CHECK(client.in_flight > 0 && in_flight_ > 0);
  if (--client.in_flight == 0 && &client != &nobody_.front()) {
    idle_.splice(idle_.begin(), busy_, client.place);
  }
  --in_flight_;
  together_.end();
  if (in_all_ != nullptr) in_all_->end();
}

ClientQuotas::Client* ClientQuotas::find_or_add(const ClientRef& client, TimePoint now) {
  if (const auto found = places_.find(client); found != places_.end()) {
    Client& known = *found->second;
    if (known.in_flight == 0) idle_.splice(idle_.begin(), idle_, known.place);
    return &known;
  }
  if (clients() == kMaxClients && !make_room()) return nullptr;
  const ClientKey key(client);
  idle_.emplace_front(key, size_, now);
  idle_.front().place = idle_.begin();
  places_.emplace(key, idle_.begin());
  return &idle_.front();
}

bool ClientQuotas::make_room() {
  if (idle_.empty()) return false;
  places_.erase(idle_.back().key);
  idle_.pop_back();
  return true;
}

bool ClientCounts::is_limited(const ClientAddress& client) const {
  return std::none_of(unlimited_.begin(), unlimited_.end(),
                      [&client](const AddressBlock& block) { return block.contains(client); });
}

bool ClientCounts::add(const ClientAddress& client) {
  if (client.kind != ClientAddress::Kind::ip) return true;
  size_t& count = counts_[client.key()];
  if (count >= most_ && is_limited(client)) return false;  // not 0, so no new entry stays
  ++count;
  return true;
}

void ClientCounts::remove(const ClientAddress& client) {
  if (client.kind != ClientAddress::Kind::ip) return;
  const auto found = counts_.find(client.key());
  if (found != counts_.end() && --found->second == 0) counts_.erase(found);
}

size_t ClientCounts::count(const ClientAddress& client) const {
  const auto found = counts_.find(client.key());
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace stdgate::policy
