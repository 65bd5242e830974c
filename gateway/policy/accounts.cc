#include "gateway/policy/accounts.h"

#include <algorithm>

#include "gateway/base/check.h"

namespace stdgate::policy {

namespace {

// Of limits.memory: the other half is for what is in no account (children's output, the program
// itself, its connections), and for what the allocator cannot reuse at once.
constexpr uint64_t kPartOfMemory = 2;
constexpr size_t kPartOfClient = 4;
constexpr size_t kPartOfBackend = 2;
constexpr size_t kPartOfServers = 8;
// Storage doubles as a message arrives.
constexpr size_t kLargestMessages = 2;

}  // namespace

AccountBounds account_bounds(const config::LimitsConfig& limits, uint64_t memory) {
  AccountBounds bounds;
  bounds.gateway =
      limits.buffered.value_or(std::max<uint64_t>(memory / kPartOfMemory, limits.message));
  const size_t large = std::min(bounds.gateway, kLargestMessages * limits.message);
  bounds.client = limits.buffered_per_client.value_or(
      std::max<uint64_t>(bounds.gateway / kPartOfClient, large));
  return bounds;
}

Accounts::Accounts(const AccountBounds& bounds)
    : bounds_(bounds),
      gateway_(bounds.gateway),
      servers_(gateway_, bounds.gateway / kPartOfServers) {}

void Accounts::set_bounds(const AccountBounds& bounds) {
  bounds_ = bounds;
  gateway_.set_bound(bounds.gateway);
  servers_.set_bound(bounds.gateway / kPartOfServers);
  for (auto& [key, client] : clients_) client.set_bound(bounds.client);
  for (const auto& backend : backends_) backend->own.set_bound(bounds.gateway / kPartOfBackend);
}

AccountRef Accounts::of(const ClientRef& client) {
  auto found = clients_.find(client);
  if (found == clients_.end()) {
    found = clients_
                .emplace(std::piecewise_construct, std::forward_as_tuple(client),
                         std::forward_as_tuple(*this, bounds_.client))
                .first;
    found->second.key = &found->first;
  }
  return AccountRef(&found->second);
}

void Accounts::on_unused(Account& account) {
  const auto found = clients_.find(*static_cast<Client&>(account).key);
  STDGATE_CHECK(found != clients_.end());
  clients_.erase(found);
}

Payer Accounts::backend(size_t number) {
  while (backends_.size() <= number) {
    backends_.push_back(std::make_unique<Backend>(gateway_, bounds_.gateway / kPartOfBackend));
  }
  Backend& backend = *backends_[number];
  return {&backend.own, &backend.held};
}

std::vector<Accounts::Holder> Accounts::largest(size_t most) const {
  std::vector<const Client*> all;
  for (const auto& [key, client] : clients_) {
    if (client.used() > 0) all.push_back(&client);
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), end, all.end(),
                    [](const Client* a, const Client* b) { return a->used() > b->used(); });
  std::vector<Holder> holders;
  for (auto client = all.begin(); client != end; ++client) {
    holders.push_back({(*client)->key->to_string(), (*client)->used()});
  }
  return holders;
}

std::string Accounts::name_of(const Account& account) const {
  for (const auto& [key, client] : clients_) {
    if (&client == &account) return key.to_string();
  }
  return {};
}

size_t Accounts::held_for_clients() const {
  size_t bytes = 0;
  for (const auto& [key, client] : clients_) bytes += client.used();
  return bytes;
}

// The root is charged with the sum of its children; bytes are counted where they are held.
void Accounts::check_invariants() const {
  size_t own = servers_.used();
  size_t held = unrouted_.total();
  for (const auto& backend : backends_) {
    own += backend->own.used();
    held += backend->held.total();
  }
  STDGATE_CHECK(held_for_clients() + own == gateway_.used());
  STDGATE_CHECK(held == gateway_.used());
}

}  // namespace stdgate::policy
