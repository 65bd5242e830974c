#include "transports/http/own_exchange.h"

#include <utility>

namespace stdgate::http {

std::unique_ptr<Exchange> OwnExchange::take() {
  if (kept_ != nullptr) {
    spare_.note_return();
    return std::move(kept_);
  }
  auto exchange = spare_.take(last_);
  last_ = exchange->number;
  return exchange;
}

void OwnExchange::give_back(std::unique_ptr<Exchange> exchange, bool goes_on) {
  const bool is_worth = goes_on && exchange->admitted && exchange->head.has_credentials();
  if (!is_worth || !spare_.may_leave()) return spare_.give_back(std::move(exchange));
  exchange->rest();
  kept_ = std::move(exchange);
}

void OwnExchange::drop() {
  if (kept_ == nullptr) return;
  spare_.note_return();
  spare_.give_back(std::move(kept_));
}

}  // namespace stdgate::http
