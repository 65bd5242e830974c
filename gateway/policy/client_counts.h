// ClientCounts: how many connections (or the like) each client has open.
//
// Owner: the object that has the limit. Limit: one entry for each client with something open, so at
// most as many as the owner has open in all. Clients without an address and Unix peers are not
// counted. Clients in `unlimited` blocks are counted, as the blocks may change, but have no limit.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gateway/base/addresses.h"

namespace stdgate::policy {

class ClientCounts {
 public:
  ClientCounts(size_t most, std::vector<AddressBlock> unlimited)
      : most_(most), unlimited_(std::move(unlimited)) {}
  // Holds for connections to come.
  void set_limits(size_t most, std::vector<AddressBlock> unlimited) {
    most_ = most;
    unlimited_ = std::move(unlimited);
  }
  ClientCounts(const ClientCounts&) = delete;
  ClientCounts& operator=(const ClientCounts&) = delete;

  // Counts one more, unless `client` has as many as it may have.
  bool add(const ClientAddress& client);
  // A connection that add() counted has ended.
  void remove(const ClientAddress& client);
  [[nodiscard]] size_t count(const ClientAddress& client) const;
  [[nodiscard]] size_t clients() const { return counts_.size(); }

 private:
  [[nodiscard]] bool is_limited(const ClientAddress& client) const;

  size_t most_;
  std::vector<AddressBlock> unlimited_;
  std::unordered_map<ClientAddress, size_t, ClientAddressHash> counts_;  // by key(); none is 0
};

}  // namespace stdgate::policy
