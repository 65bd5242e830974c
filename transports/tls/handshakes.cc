#include "transports/tls/handshakes.h"

#include <algorithm>

#include "gateway/base/check.h"

namespace stdgate::tls {

bool Handshakes::begin(Waiter& waiter) {
  if (under_way_ == limit_) {
    waiting_.push_back(&waiter);
    return false;
  }
  ++under_way_;
  return true;
}

void Handshakes::end() {
  STDGATE_CHECK(under_way_ > 0);
  --under_way_;
  if (waiting_.empty()) return;
  Waiter& next = *waiting_.front();
  waiting_.pop_front();
  ++under_way_;
  next.on_handshake_turn();
}

void Handshakes::leave(const Waiter& waiter) {
  const auto place = std::ranges::find(waiting_, &waiter);
  STDGATE_CHECK(place != waiting_.end());
  waiting_.erase(place);
}

}  // namespace stdgate::tls
