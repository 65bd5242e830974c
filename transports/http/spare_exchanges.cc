#include "transports/http/spare_exchanges.h"

#include <utility>

namespace stdgate::http {

std::unique_ptr<Exchange> SpareExchanges::take(uint32_t number) {
  if (slots_[number].exchange != nullptr) return take_out(number);
  const uint32_t oldest = slots_[0].younger;
  const bool may_have_own = number != 0 && slots_.size() - free_slots_.size() <= kMaxOwn;
  return oldest == 0 || may_have_own ? make() : take_out(oldest);
}

std::unique_ptr<Exchange> SpareExchanges::take_out(uint32_t number) {
  Slot& slot = slots_[number];
  slots_[slot.older].younger = slot.younger;
  slots_[slot.younger].older = slot.older;
  return std::move(slot.exchange);
}

std::unique_ptr<Exchange> SpareExchanges::make() {
  auto exchange = std::make_unique<Exchange>(storages_);
  if (!free_slots_.empty()) {
    exchange->number = free_slots_.back();
    free_slots_.pop_back();
  } else if (slots_.size() <= kMaxEntries) {
    exchange->number = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  }
  return exchange;
}

void SpareExchanges::drop() {
  while (const uint32_t oldest = slots_[0].younger) {
    take_out(oldest);
    free_slots_.push_back(oldest);
  }
}

void SpareExchanges::give_back(std::unique_ptr<Exchange> exchange) {
  exchange->clear();
  const uint32_t number = exchange->number;
  if (number == 0) return;
  Slot& slot = slots_[number];
  slot.older = slots_[0].older;
  slot.younger = 0;
  slots_[slot.older].younger = number;
  slots_[0].older = number;
  slot.exchange = std::move(exchange);
}

}  // namespace stdgate::http
