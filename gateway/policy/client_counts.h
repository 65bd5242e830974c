// ClientCounts: how many connections (or the like) each client has open.
//
// Owner: whoever limits it. Limit: one entry for each client that has any, so at most as many as
// the owner has open in all. Clients without an address, Unix peers and those of `unlimited` blocks
// are not counted.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "gateway/base/client_address.h"

namespace stdgate::policy {

class ClientCounts {
 public:
  ClientCounts(size_t most, std::vector<AddressBlock> unlimited)
      : most_(most), unlimited_(std::move(unlimited)) {}
  // For those that come.
  void set_most(size_t most) { most_ = most; }
  ClientCounts(const ClientCounts&) = delete;
  ClientCounts& operator=(const ClientCounts&) = delete;

  // Counts one more, unless `client` has as many as it may have.
  bool add(const ClientAddress& client);
  // One that add() counted is gone.
  void remove(const ClientAddress& client);
  [[nodiscard]] size_t count(const ClientAddress& client) const;
  [[nodiscard]] size_t clients() const { return counts_.size(); }

 private:
  [[nodiscard]] bool is_limited(const ClientAddress& client) const;

  size_t most_;
  const std::vector<AddressBlock> unlimited_;
  std::unordered_map<ClientAddress, size_t, ClientAddressHash> counts_;  // by key(); none is 0
};

}  // namespace stdgate::policy
