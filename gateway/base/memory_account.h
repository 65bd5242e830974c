// MemoryAccount: the bytes that all connections of a server hold together: requests that are being
// received, and answers that their clients have not taken.
//
// Owner: the server, whose connections use it. Limit: `limit` bytes. Receivers check
// is_over(); unsent answers cannot be refused, so the owner is notified and has to make room.
#pragma once

#include <algorithm>
#include <cstddef>

#include "gateway/base/check.h"

namespace stdgate {

// Called with each growth, possibly from within a call of the core: implementations must not close
// connections.
class MemoryAccountEvents {
 public:
  virtual ~MemoryAccountEvents() = default;
  virtual void on_memory_over_limit() = 0;  // by unsent bytes
  virtual void on_much_memory() = 0;        // used() has become MemoryAccount::kMuch or more
};

class MemoryAccount {
 public:
  // From this peak on, freed memory is worth returning to the system.
  static constexpr size_t kMuch = 32 << 20;

  MemoryAccount(size_t limit, MemoryAccountEvents& events) : limit_(limit), events_(events) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  // A holder's share changes from `from` bytes to `to`.
  void change_received(size_t from, size_t to) {
    change(from, to);
    if (to > from) note_growth();
  }
  void change_unsent(size_t from, size_t to) {
    change(from, to);
    if (to <= from) return;
    note_growth();
    if (is_over()) events_.on_memory_over_limit();
  }

  [[nodiscard]] size_t used() const { return used_; }
  [[nodiscard]] size_t limit() const { return limit_; }
  [[nodiscard]] bool is_over() const { return used_ > limit_; }
  // The most that was used since reset_peak().
  [[nodiscard]] size_t peak() const { return peak_; }
  void reset_peak() { peak_ = used_; }

 private:
  void change(size_t from, size_t to) {
    STDGATE_CHECK(from <= used_);
    used_ = used_ - from + to;
  }
  void note_growth() {
    const bool was_much = peak_ >= kMuch;
    peak_ = std::max(peak_, used_);
    if (!was_much && peak_ >= kMuch) events_.on_much_memory();
  }

  const size_t limit_;
  MemoryAccountEvents& events_;
  size_t used_ = 0;
  size_t peak_ = 0;
};

}  // namespace stdgate
