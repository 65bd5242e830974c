// OwnExchange: the exchanges of one connection, from the server's free list and back to it.
//
// An exchange whose head has credentials is not given back between requests: such a head is for no
// other connection, and reading and judging it anew costs as much as the whole call. It goes back,
// wiped, when the connection ends, or has been still for kTime. Owner: the connection, which passes
// the list to be small. Limits: SpareExchanges::kMaxLeft of them on all connections; further ones
// are given back at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "gateway/base/check.h"
#include "gateway/base/time.h"
#include "transports/http/spare_exchanges.h"

namespace stdgate::http {

class OwnExchange {
 public:
  static constexpr Duration kTime = std::chrono::seconds(2);

  OwnExchange() = default;
  ~OwnExchange() { STDGATE_CHECK(kept_ == nullptr); }
  OwnExchange(const OwnExchange&) = delete;
  OwnExchange& operator=(const OwnExchange&) = delete;

  std::unique_ptr<Exchange> take(SpareExchanges& spare);
  // `goes_on`: further requests may come.
  void give_back(std::unique_ptr<Exchange> exchange, SpareExchanges& spare, bool goes_on);
  [[nodiscard]] bool is_kept() const { return kept_ != nullptr; }
  // To be called before the end.
  void drop(SpareExchanges& spare);

 private:
  std::unique_ptr<Exchange> kept_;
  uint32_t last_ = 0;  // number of the exchange that was taken last
};

}  // namespace stdgate::http
