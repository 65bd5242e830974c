#include "gateway/policy/client_counts.h"

#include <algorithm>

namespace stdgate::policy {

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
