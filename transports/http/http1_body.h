// Http1Body: the body of one request, by Content-Length or chunked (RFC 9112 sections 6 and 7).
//
// Job: collect it into one contiguous piece, which it already is when it lies within one read; else
// in storage of the pool, which grows with what has come.
// Chunks are cut by llhttp; the trailer section, where llhttp is lenient, is scanned as strictly as
// a header block and dropped.
// Owner: a request, reused. Limits: `limit` bytes of body; kMaxFraming bytes of sizes and
// extensions beyond kMaxFramingPerChunk a chunk; kMaxTrailer bytes of trailers.
#pragma once

#include <llhttp.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "gateway/base/byte_queue.h"
#include "gateway/base/storage_pool.h"
#include "transports/http/http1_head.h"

namespace stdgate::http {

class Http1Body {
 public:
  static constexpr size_t kMaxFraming = 4096;
  static constexpr size_t kMaxFramingPerChunk = 32;
  static constexpr size_t kMaxTrailer = 4096;

  enum class State : uint8_t { reading, complete, failed, too_large };

  explicit Http1Body(StoragePool& storages) : collected_(storages) {}

  void start_length(uint64_t length);  // within the limit: the caller has looked
  void start_chunked(size_t limit);

  // Takes bytes from the front of `bytes`, which it may change, and returns how many. Stops at the
  // end of the body.
  size_t feed(std::span<char> bytes);
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const char* problem() const { return problem_; }  // when failed

  // Complete: the body; a view of the last fed bytes or of this reader's own memory.
  [[nodiscard]] std::span<char> body();
  // Offers the body's storage to the endpoint; nothing if the body is a view.
  [[nodiscard]] StorageOffer offer() { return collected_.offer(); }
  // Memory of what has come.
  [[nodiscard]] size_t held() const {
    return collected_.capacity() + (trailers_.empty() ? 0 : trailers_.capacity());
  }

  // Forgets the body and gives its storage back.
  void clear();

 private:
  friend struct ChunkCallbacks;  // what llhttp calls

  size_t feed_length(std::span<char> bytes);
  size_t feed_chunks(std::span<char> bytes);
  size_t feed_trailers(std::span<char> bytes);
  void fail(const char* problem);

  llhttp_t parser_{};
  PooledBuffer collected_;
  ByteQueue trailers_;
  HeadScanner trailer_scanner_;
  std::span<char> in_place_;
  uint64_t remaining_ = 0;
  size_t limit_ = 0;
  size_t framing_ = 0;  // bytes of chunk framing so far
  size_t chunks_ = 0;
  const char* problem_ = "";
  State state_ = State::complete;
  bool chunked_ = false;
  bool in_trailers_ = false;
};

}  // namespace stdgate::http
