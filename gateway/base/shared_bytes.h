// SharedBytes: one copy of bytes with many holders: streams that have yet to send a broadcast, logs
// that keep it. Charged once, as unsent, until the last holder has released it.
//
// A value.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/base/account.h"

namespace stdgate {

class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(std::string_view text, const Payer& payer = {})
      : block_(std::make_shared<Block>(text, payer)) {
    view_ = block_->text;
  }

  [[nodiscard]] std::string_view view() const { return view_; }
  [[nodiscard]] bool empty() const { return view_.empty(); }
  // A part of the bytes; it keeps the whole block alive.
  [[nodiscard]] SharedBytes part(size_t offset, size_t size) const {
    SharedBytes out = *this;
    out.view_ = view_.substr(offset, size);
    return out;
  }

 private:
  struct Block {
    Block(std::string_view from, const Payer& payer) : text(from), share(payer, Holding::unsent) {
      share.set(text.capacity());
    }
    const std::string text;
    Share share;
  };
  std::shared_ptr<Block> block_;
  std::string_view view_;
};

}  // namespace stdgate
