// SharedBytes: one copy of bytes that many hold: the streams that have yet to send a broadcast, the
// logs that keep it. Freed with its last holder.
//
// A value. UnsentShare: a stream's hold on shared bytes until it has sent them. However many
// streams hold them, they are charged to the account once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/base/memory_account.h"

namespace stdgate {

class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(std::string_view text) : block_(std::make_shared<Block>(text)) {
    view_ = block_->text;
  }

  [[nodiscard]] std::string_view view() const { return view_; }
  [[nodiscard]] bool empty() const { return view_.empty(); }
  // A part of them; it keeps the whole block alive.
  [[nodiscard]] SharedBytes part(size_t offset, size_t size) const {
    SharedBytes out = *this;
    out.view_ = view_.substr(offset, size);
    return out;
  }

 private:
  friend class UnsentShare;
  struct Block {
    explicit Block(std::string_view from) : text(from) {}
    const std::string text;
    size_t senders = 0;  // UnsentShares with an account
  };
  std::shared_ptr<Block> block_;
  std::string_view view_;
};

class UnsentShare {
 public:
  UnsentShare() = default;
  // `account`, if there is one, lives until the share is gone or released.
  UnsentShare(SharedBytes bytes, MemoryAccount* account)
      : bytes_(std::move(bytes)), account_(account) {
    if (account_ != nullptr && bytes_.block_->senders++ == 0) {
      account_->change_unsent(0, bytes_.block_->text.size());
    }
  }
  UnsentShare(UnsentShare&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), account_(std::exchange(other.account_, nullptr)) {}
  UnsentShare& operator=(UnsentShare&& other) noexcept {
    UnsentShare taken(std::move(other));
    std::swap(bytes_, taken.bytes_);
    std::swap(account_, taken.account_);
    return *this;
  }
  ~UnsentShare() { release(); }

  [[nodiscard]] std::string_view view() const { return bytes_.view(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  // Ends the charge to the account; the bytes stay.
  void release() {
    if (MemoryAccount* account = std::exchange(account_, nullptr);
        account != nullptr && --bytes_.block_->senders == 0) {
      account->change_unsent(bytes_.block_->text.size(), 0);
    }
  }

 private:
  SharedBytes bytes_;
  MemoryAccount* account_ = nullptr;
};

}  // namespace stdgate
