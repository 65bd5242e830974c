#include "transports/tls/handshakes.h"

#include <algorithm>

#include "gateway/base/check.h"

namespace stdgate::tls {

ClientAddress Handshakes::counted(const ClientAddress& client) {
  return client.kind == ClientAddress::Kind::ip ? client.key() : ClientAddress();
}

bool Handshakes::is_unlimited(const ClientAddress& client) const {
  return client.kind != ClientAddress::Kind::ip ||
         std::ranges::any_of(unlimited_,
                             [&](const AddressBlock& block) { return block.contains(client); });
}

bool Handshakes::begin(Waiter& waiter, const ClientAddress& client) {
  const ClientAddress key = counted(client);
  Client& known = clients_[key];
  known.is_unlimited = is_unlimited(client);
  const bool may_begin = under_way_ < limit_ && has_share(known);
  if (may_begin) {
    count(known);
  } else {
    waiter.ticket_ = ++tickets_;
    known.waiting.emplace(waiter.ticket_, &waiter);
    ++waiting_;
  }
  settle(key, known);
  return may_begin;
}

void Handshakes::end(const ClientAddress& client) {
  const ClientAddress key = counted(client);
  const auto ended = clients_.find(key);
  STDGATE_CHECK(ended != clients_.end() && ended->second.under_way > 0);
  --ended->second.under_way;
  --under_way_;
  settle(key, ended->second);
  while (under_way_ < limit_ && !next_.empty()) begin_next();
}

void Handshakes::begin_next() {
  const ClientAddress next_key = next_.begin()->second;
  Client& next = clients_.find(next_key)->second;
  Waiter& waiter = *next.waiting.begin()->second;
  next.waiting.erase(next.waiting.begin());
  --waiting_;
  count(next);
  settle(next_key, next);
  waiter.on_handshake_turn();
}

void Handshakes::leave(const Waiter& waiter, const ClientAddress& client) {
  const ClientAddress key = counted(client);
  const auto known = clients_.find(key);
  STDGATE_CHECK(known != clients_.end());
  const size_t left = known->second.waiting.erase(waiter.ticket_);
  STDGATE_CHECK(left == 1);
  --waiting_;
  settle(key, known->second);
}

void Handshakes::settle(const ClientAddress& key, Client& client) {
  const bool may_go_on = has_share(client) && !client.waiting.empty();
  const uint64_t next = may_go_on ? client.waiting.begin()->first : 0;
  if (next != client.next) {
    next_.erase(client.next);
    if (next != 0) next_.emplace(next, key);
    client.next = next;
  }
  if (client.under_way == 0 && client.waiting.empty()) clients_.erase(key);
}

}  // namespace stdgate::tls
