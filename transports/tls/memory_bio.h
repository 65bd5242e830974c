// MemoryBio: the encrypted side of a TLS connection in memory: what OpenSSL reads and writes.
//
// Owner: a TlsStream; outlives the SSL that uses it. No I/O. Bytes are read in place; only bytes
// that OpenSSL leaves (the stream is paused, or waits for its handshake) are copied, into pooled
// storage. Limit: none of its own: the stream feeds no more while something is left, so it is one
// read of the socket.
#pragma once

#include <openssl/bio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gateway/base/byte_storage.h"
#include "gateway/base/text.h"

namespace stdgate::tls {

class MemoryBio {
 public:
  explicit MemoryBio(StoragePool& storages) : left_(storages), sealed_(storages) {}
  MemoryBio(const MemoryBio&) = delete;
  MemoryBio& operator=(const MemoryBio&) = delete;

  // For SSL_set_bio(), which owns it then. Null: no memory.
  BIO* make();

  // `bytes` are read after what is left of earlier ones; valid until keep_rest().
  void feed(std::string_view bytes) { fresh_ = bytes; }
  void keep_rest() {
    left_.append(std::exchange(fresh_, {}));
    left_.release_if_empty();
  }
  [[nodiscard]] size_t left_memory() const { return left_.capacity(); }
  // The bytes that are to be read.
  [[nodiscard]] size_t unread() const { return left_.size() + fresh_.size(); }
  [[nodiscard]] uint8_t byte(size_t place) const {
    const std::string_view left = left_.view();
    return static_cast<uint8_t>(place < left.size() ? left[place] : fresh_[place - left.size()]);
  }
  // Discards the unread bytes.
  void drop_unread() {
    fresh_ = {};
    left_.release();
  }

  // The bytes that OpenSSL has written; the caller takes them away.
  PooledBuffer& sealed() { return sealed_; }

 private:
  static const BIO_METHOD* method();
  size_t read(char* to, size_t size);
  void write(std::string_view bytes) { sealed_.append(bytes); }

  PooledBuffer left_;
  std::string_view fresh_;
  PooledBuffer sealed_;
};

}  // namespace stdgate::tls
