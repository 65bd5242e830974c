// KeptMessages: the messages of a client that have been read while the core takes none, in the
// order in which they came, and when that was.
//
// Owner: a WebSocket connection, which bounds size(). An empty one holds no storage.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "gateway/base/pooled_buffer.h"
#include "gateway/base/time.h"

namespace stdgate::websocket {

class KeptMessages {
 public:
  explicit KeptMessages(StoragePool& storages) : bytes_(storages) {}
  KeptMessages(const KeptMessages&) = delete;
  KeptMessages& operator=(const KeptMessages&) = delete;

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  // Of what is kept.
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] size_t capacity() const { return bytes_.capacity(); }

  void push(std::string_view text, TimePoint arrived);
  // The oldest one, which may be changed; valid until push(), pop() or clear(). There must be one.
  [[nodiscard]] std::span<char> front();
  [[nodiscard]] TimePoint front_arrived() const { return front_head().arrived; }
  void pop();
  void clear() { bytes_.release(); }

 private:
  struct Head {
    size_t length = 0;
    TimePoint arrived{};
  };
  [[nodiscard]] Head front_head() const;

  PooledBuffer bytes_;  // of each message its head, then its text
};

}  // namespace stdgate::websocket
