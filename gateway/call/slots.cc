#include "gateway/call/slots.h"

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
  for (size_t slot = 0; slot < layout_->kinds_.size(); ++slot) {
    const SlotLayout::Kind& kind = layout_->kinds_[slot];
    if ((used_ >> slot & 1) != 0) kind.clear(bytes_.get() + kind.offset);
  }
  used_ = 0;
}

}  // namespace stdgate::call
