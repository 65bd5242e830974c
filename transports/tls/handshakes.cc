#include "transports/tls/handshakes.h"

#include <algorithm>

#include "gateway/base/check.h"

namespace stdgate::tls {

ClientAddress Handshakes::counted(const ClientAddress& client) const {
  const bool is_unlimited = std::ranges::any_of(
      unlimited_, [&](const AddressBlock& block) { return block.contains(client); });
  const bool is_counted = client.kind == ClientAddress::Kind::ip && !is_unlimited;
  return is_counted ? client.key() : ClientAddress();
}

bool Handshakes::has_share(const ClientAddress& client) const {
  const auto found = of_clients_.find(client);
  return found == of_clients_.end() || found->second < share_;
}

void Handshakes::count(const ClientAddress& client) {
  ++under_way_;
  if (!client.is_none()) ++of_clients_[client];
}

bool Handshakes::begin(Waiter& waiter, const ClientAddress& client) {
  const ClientAddress key = counted(client);
  if (under_way_ == limit_ || !has_share(key)) {
    waiting_.push_back({&waiter, key});
    return false;
  }
  count(key);
  return true;
}

void Handshakes::end(const ClientAddress& client) {
  STDGATE_CHECK(under_way_ > 0);
  --under_way_;
  const auto found = of_clients_.find(counted(client));
  if (found != of_clients_.end() && --found->second == 0) of_clients_.erase(found);
  const auto next = std::ranges::find_if(
      waiting_, [this](const Waiting& waiting) { return has_share(waiting.client); });
  if (next == waiting_.end()) return;
  const Waiting taken = *next;
  waiting_.erase(next);
  count(taken.client);
  taken.waiter->on_handshake_turn();
}

void Handshakes::leave(const Waiter& waiter) {
  const auto place = std::ranges::find(waiting_, &waiter, &Waiting::waiter);
  STDGATE_CHECK(place != waiting_.end());
  waiting_.erase(place);
}

}  // namespace stdgate::tls
