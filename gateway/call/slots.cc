#include "gateway/call/slots.h"

#include <bit>

namespace stdgate::call {

CallSlots::CallSlots(const SlotLayout& layout)
    : layout_(&layout), bytes_(std::make_unique<std::byte[]>(layout.bytes_)) {
  for (const SlotLayout::Kind& kind : layout.kinds_) kind.make(bytes_.get() + kind.offset);
}

CallSlots::~CallSlots() {
  if (layout_ == nullptr) return;
  for (const SlotLayout::Kind& kind : layout_->kinds_) kind.destroy(bytes_.get() + kind.offset);
}

void CallSlots::clear_used() {
  for (uint32_t left = std::exchange(used_, 0); left != 0; left &= left - 1) {
    const SlotLayout::Kind& kind = layout_->kinds_[static_cast<size_t>(std::countr_zero(left))];
    kind.clear(bytes_.get() + kind.offset);
  }
}

}  // namespace stdgate::call
