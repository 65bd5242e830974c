#include "transports/net/stream.h"

#include <algorithm>

#include "gateway/base/check.h"
#include "gateway/base/text.h"

namespace stdgate::net {

void OutQueue::append(std::span<const std::string_view> parts, size_t size) {
  if (size == 0) return;
  char* at = tail_.reserve(size, last_burst_);
  for (const std::string_view part : parts) at = copy_text(at, part);
  tail_.commit(size);
  last_burst_ = tail_.size();
}

void OutQueue::push(OutPiece piece) {
  end_tail();
  add(std::move(piece));
}

void OutQueue::add(OutPiece piece) {
  // Compacts once most places in front are empty.
  if (first_ > kMaxLeftPlaces && first_ > pieces_.size() / 2) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<ptrdiff_t>(first_));
    first_ = 0;
  }
  pieces_size_ += piece.size();
  pieces_held_ += piece.held();
  pieces_.push_back(std::move(piece));
}

// The bytes of the tail come before the next piece.
void OutQueue::end_tail() {
  if (!tail_.empty()) add(OutPiece(tail_.take()));
}

void OutQueue::consume(size_t count) {
  STDGATE_CHECK(count <= size());
  while (count > 0 && first_ < pieces_.size()) {
    OutPiece& piece = pieces_[first_];
    const size_t part = std::min(count, piece.size());
    piece.consume(part);
    pieces_size_ -= part;
    count -= part;
    if (piece.empty()) pop().give_back(storages_);
  }
  tail_.consume(count);
  tail_.release_if_empty();
}

OutPiece OutQueue::pop() {
  if (first_ == pieces_.size()) return OutPiece(tail_.take());
  OutPiece piece = std::move(pieces_[first_++]);
  pieces_size_ -= piece.size();
  pieces_held_ -= piece.held();
  if (first_ == pieces_.size()) {
    pieces_.clear();
    first_ = 0;
  }
  return piece;
}

void OutQueue::clear() {
  while (!empty()) pop().give_back(storages_);
  tail_.release();
  std::vector<OutPiece>().swap(pieces_);
}

void OutQueue::check_invariants() const {
  STDGATE_CHECK(first_ <= pieces_.size());
  size_t size = 0;
  size_t held = 0;
  for (size_t i = first_; i < pieces_.size(); ++i) {
    size += pieces_[i].size();
    held += pieces_[i].held();
  }
  STDGATE_CHECK(size == pieces_size_ && held == pieces_held_);
  STDGATE_CHECK(!tail_.empty() || tail_.capacity() == 0);
}

}  // namespace stdgate::net
