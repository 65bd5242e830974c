#include "transports/auth/tickets.h"

#include <array>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"

namespace stdgate::auth {

namespace {

constexpr size_t kRandomBytes = 24;

std::string key_of(const policy::Principal& principal) {
  return policy::source_of(principal) + "\n" + principal.name;
}

}  // namespace

std::optional<std::string> Tickets::issue(const Identity& identity, std::string_view path) {
  STDGATE_CHECK(identity.principal != nullptr);
  drop_expired();
  const std::string owner = key_of(*identity.principal);
  const auto own = of_principals_.find(owner);
  const bool has_many = own != of_principals_.end() && own->second >= kMaxOfOne;
  if (tickets_.size() >= kMaxTickets || has_many) return std::nullopt;
  std::array<uint8_t, kRandomBytes> random{};
  fill_random_(random);
  std::string ticket =
      encode_base64url({reinterpret_cast<const char*>(random.data()), random.size()});
  const TimePoint expires = clock_.now() + kLife;
  tickets_.insert_or_assign(ticket, Entry{identity, std::string(path), expires});
  by_age_.emplace_back(expires, ticket);
  ++of_principals_[owner];
  return ticket;
}

std::optional<Identity> Tickets::redeem(std::string_view ticket, std::string_view path) {
  drop_expired();
  const auto place = tickets_.find(std::string(ticket));
  if (place == tickets_.end()) return std::nullopt;
  Entry entry = take(place);
  if (entry.path != path || clock_.now() >= entry.identity.expires) return std::nullopt;
  entry.identity.is_for_once = true;
  return std::move(entry.identity);
}

void Tickets::forget_all() {
  tickets_.clear();
  by_age_.clear();
  of_principals_.clear();
}

void Tickets::drop_expired() {
  const TimePoint now = clock_.now();
  while (!by_age_.empty() && by_age_.front().first <= now) {
    const auto place = tickets_.find(by_age_.front().second);
    if (place != tickets_.end()) take(place);
    by_age_.pop_front();
  }
}

Tickets::Entry Tickets::take(Table::iterator place) {
  Entry entry = std::move(place->second);
  tickets_.erase(place);
  const auto own = of_principals_.find(key_of(*entry.identity.principal));
  STDGATE_CHECK(own != of_principals_.end());
  if (--own->second == 0) of_principals_.erase(own);
  return entry;
}

}  // namespace stdgate::auth
