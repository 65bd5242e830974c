#include "transports/http/own_exchange.h"

#include <utility>

namespace stdgate::http {

std::unique_ptr<Exchange> OwnExchange::take(SpareExchanges& spare) {
  if (kept_ != nullptr) {
    spare.note_return();
    return std::move(kept_);
  }
  auto exchange = spare.take(last_);
  last_ = exchange->number;
  return exchange;
}

void OwnExchange::give_back(std::unique_ptr<Exchange> exchange, SpareExchanges& spare,
                            bool goes_on) {
  const bool is_worth = goes_on && exchange->admitted && exchange->head.has_credentials();
  if (!is_worth || !spare.may_leave()) return spare.give_back(std::move(exchange));
  exchange->rest();
  kept_ = std::move(exchange);
}

void OwnExchange::drop(SpareExchanges& spare) {
  if (kept_ == nullptr) return;
  spare.note_return();
  spare.give_back(std::move(kept_));
}

}  // namespace stdgate::http
