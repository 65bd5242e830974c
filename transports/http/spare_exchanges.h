// SpareExchanges: the exchanges that no connection is using.
//
// Each keeps the header block that it parsed last, and what follows from it, unless it had
// credentials. So a connection gets the exchange that it had before, if no other connection has
// taken it, and otherwise the one that has been here for longest. Owner: the server. Limits:
// kMaxEntries are kept; kMaxOwn may be there because connections want one of their own again, the
// others because so many were in use at once; kMaxLeft may be with connections that are idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transports/http/exchange.h"

namespace stdgate::http {

class SpareExchanges {
 public:
  static constexpr size_t kMaxEntries = 1024;
  static constexpr size_t kMaxOwn = 256;
  static constexpr size_t kMaxLeft = 1024;

  // `storages` is for the bodies, and outlives this.
  explicit SpareExchanges(StoragePool& storages) : storages_(storages), slots_(1) {}

  // `number`: of the exchange that the caller had last; 0: it had none.
  std::unique_ptr<Exchange> take(uint32_t number);
  void give_back(std::unique_ptr<Exchange> exchange);
  // Frees those that are here, with the heads that they keep; their numbers are given out again.
  void drop();

  // For OwnExchange: whether one more may stay with its idle connection; then it counts.
  [[nodiscard]] bool may_leave() {
    if (left_ == kMaxLeft) return false;
    ++left_;
    return true;
  }
  void note_return() { --left_; }

 private:
  // A ring from the oldest to the youngest that are here, through slot 0, which has none.
  struct Slot {
    std::unique_ptr<Exchange> exchange;
    uint32_t older = 0;
    uint32_t younger = 0;
  };

  std::unique_ptr<Exchange> take_out(uint32_t number);
  std::unique_ptr<Exchange> make();

  StoragePool& storages_;
  std::vector<Slot> slots_;           // by number
  std::vector<uint32_t> free_slots_;  // of exchanges that have been dropped
  size_t left_ = 0;
};

}  // namespace stdgate::http
