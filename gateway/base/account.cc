#include "gateway/base/account.h"

namespace stdgate {

void Account::change(size_t from, size_t to) {
  STDGATE_CHECK(from <= used_);
  used_ = used_ - from + to;
  if (parent_ != nullptr) parent_->change(from, to);
  if (!is_tight_ && used_ > tight_) {
    is_tight_ = true;
    const auto& on_tight = parent_ == nullptr ? on_tight_ : parent_->on_tight_;
    if (on_tight) on_tight();
  } else if (is_tight_ && used_ < tight_ - tight_ / 16) {
    is_tight_ = false;
  }
}

Share& Share::operator=(Share&& other) noexcept {
  set(0);
  account_ = std::move(other.account_);
  held_ = other.held_;
  bytes_ = std::exchange(other.bytes_, 0);
  holding_ = other.holding_;
  return *this;
}

void Share::change(size_t bytes) {
  if (account_.get() == nullptr) return;
  const bool has_grown = bytes > bytes_;
  if (held_ != nullptr) held_->of[static_cast<size_t>(holding_)] += bytes - bytes_;
  account_->change(std::exchange(bytes_, bytes), bytes);
  if (has_grown && holding_ == Holding::unsent) account_->tell_over();
}

void Share::move(const Payer& payer) {
  const size_t bytes = bytes_;
  set(0);
  account_ = AccountRef(payer.account);
  held_ = payer.held;
  set(bytes);
}

}  // namespace stdgate
