// Accounts: the bytes that a gateway keeps for its clients, by client, and by backend.
//
//   the gateway     limits.buffered
//   ├ a client      limits.buffered_per_client; what its connections, sessions and calls hold
//   ├ a backend     half of limits.buffered; what it holds for no client: broadcasts, kept answers
//   └ servers       an eighth of limits.buffered; what is remembered of servers that may sleep
//
// A client is a principal or, if anonymous, an address (ClientKey); clients with neither are one.
// Bytes at a backend, also those for clients, are counted for that backend too (HeldBytes). Bytes
// at no backend, like an HTTP request before it is routed, have a count of their own. Owner: the
// worker; outlives every share. Limit: a client is known while it holds anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/config/config.h"
#include "gateway/policy/client.h"

namespace stdgate::policy {

// In bytes.
struct AccountBounds {
  size_t gateway = SIZE_MAX;
  size_t client = SIZE_MAX;
};
// `memory`: what the gateway may use in all (limits.memory, or its default).
AccountBounds account_bounds(const config::LimitsConfig& limits, uint64_t memory);

class Accounts final : private AccountKeeper {
 public:
  explicit Accounts(const AccountBounds& bounds = {});
  ~Accounts() override = default;
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  [[nodiscard]] Account& gateway() { return gateway_; }
  [[nodiscard]] const Account& gateway() const { return gateway_; }
  [[nodiscard]] const AccountBounds& bounds() const { return bounds_; }
  // Gives up nothing that is held.
  void set_bounds(const AccountBounds& bounds);
  // A look-up.
  AccountRef of(const ClientRef& client);
  // The account of the backend with this number (BackendId), which stays in its place.
  Payer backend(size_t number);
  // Pays for what is remembered of servers, which outlives backends.
  Payer servers() { return {&servers_, &unrouted_}; }
  // Bytes at no backend.
  [[nodiscard]] HeldBytes& unrouted() { return unrouted_; }
  [[nodiscard]] const HeldBytes& unrouted() const { return unrouted_; }
  // Bytes at the backend with this number.
  [[nodiscard]] HeldBytes held_at(size_t number) const {
    return number < backends_.size() ? backends_[number]->held : HeldBytes();
  }

  // A client, and the bytes that are kept for it.
  struct Holder {
    std::string client;  // a principal's name, or an address; empty: neither is known
    size_t bytes = 0;
  };
  // The clients that hold most, the largest first. Clients that hold nothing are left out.
  [[nodiscard]] std::vector<Holder> largest(size_t most) const;
  // Calls visit(Account&) for each client's.
  template <class Visitor>
  void for_each_client(Visitor&& visit) {
    for (auto& [key, client] : clients_) visit(client);
  }
  // The client's name, for people; empty: the account is no client's.
  [[nodiscard]] std::string name_of(const Account& account) const;
  [[nodiscard]] size_t clients() const { return clients_.size(); }
  // Bytes held for all clients together.
  [[nodiscard]] size_t held_for_clients() const;
  // Ends the process if an invariant is broken.
  void check_invariants() const;

 private:
  struct Client final : Account {
    Client(Accounts& all, size_t bound) : Account(all.gateway_, bound, &all) {}
    const ClientKey* key = nullptr;  // of its entry
  };
  struct Backend {
    Backend(Account& gateway, size_t bound) : own(gateway, bound) {}
    Account own;
    HeldBytes held;
  };

  void on_unused(Account& account) override;

  AccountBounds bounds_;
  Account gateway_;
  Account servers_;
  HeldBytes unrouted_;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::unordered_map<ClientKey, Client, ClientHash, ClientEqual> clients_;
};

}  // namespace stdgate::policy
