// Stream: bytes to and from one peer. OutQueue: what a stream has to send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/base/byte_storage.h"
#include "gateway/base/time.h"
#include "transports/net/peer_certificate.h"

namespace stdgate::net {

// StreamEvents: the receiver of the events of a Stream. Called from the outermost level of the
// loop, never from within a call on the stream.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  virtual void on_bytes(std::span<char> bytes) = 0;  // valid during the call, may be changed
  virtual void on_end() = 0;                         // the peer has finished writing
  virtual void on_error(int error) = 0;  // libuv's code; nothing is read or written any more
  virtual void on_writable() {}          // unsent bytes fell to half of the watermark
  virtual void on_flushed() {}           // nothing unsent is left
};

// Stream: bytes to and from one peer, as a connection sees them, whatever carries them.
//
// Implemented by ByteStream, and by TlsStream over another Stream. Writes are collected until the
// end of the loop's turn. Owner: the connection, which may destroy it at any time outside of its
// own callbacks (retire it there; close() it too if no more events are wanted until it is gone).
// Limit: none on unsent bytes; the owner looks at unsent_bytes() and decides, and its Payer pays
// for their memory.
class Stream {
 public:
  virtual ~Stream() = default;

  // Memory is charged to this payer from now on: unsent bytes, and received bytes that are kept to
  // be read later.
  virtual void set_payer(const Payer& payer) = 0;

  // From now on `events` receives the events. May be called from within a call of the former
  // receiver.
  virtual void set_events(StreamEvents& events) = 0;

  // Reading goes on while no reason to pause is set. A stream starts paused by kNotStarted. kTurn:
  // the bytes that have been read are handled in the next turn.
  enum PauseReason : uint8_t { kNotStarted = 1, kBusy = 2, kBackPressure = 4, kTurn = 8 };
  virtual void pause_read(PauseReason reason) = 0;
  virtual void resume_read(PauseReason reason) = 0;

  // Puts `parts` behind what is unsent. Dropped after shutdown_write(), close() and an error.
  virtual void write(std::span<const std::string_view> parts) = 0;
  void write(std::string_view bytes) { write({&bytes, 1}); }
  [[nodiscard]] virtual size_t unsent_bytes() const = 0;
  // on_writable() is called when unsent bytes, once above `bytes`, have fallen to half of it.
  virtual void set_watermark(size_t bytes) = 0;

  // The peer's certificate, once it has sent anything; nothing: it has shown none.
  [[nodiscard]] virtual std::optional<PeerCertificate> peer_certificate() const {
    return std::nullopt;
  }

  // Finishes writing: the peer reads end of stream after what is unsent. Reading goes on.
  virtual void shutdown_write() = 0;
  // Ends it now; unsent bytes are dropped and no event follows.
  virtual void close() = 0;

  [[nodiscard]] virtual uint64_t bytes_read() const = 0;
  [[nodiscard]] virtual uint64_t bytes_written() const = 0;  // taken by the kernel
  // Taken by the peer, as far as the kernel knows. Costs a system call.
  [[nodiscard]] virtual uint64_t bytes_taken() const = 0;
  // While something is unsent: since when nothing of it has been taken.
  [[nodiscard]] virtual TimePoint waiting_since() const = 0;
  // Memory of unsent bytes, without what is shared with other streams.
  [[nodiscard]] virtual size_t unsent_memory() const = 0;
  // Whether the peer has finished writing, or is gone, even if earlier bytes have not been read.
  // Costs a system call.
  [[nodiscard]] virtual bool has_peer_left() const = 0;
  // Whether unread bytes, or the peer's end of stream, have arrived. Costs a system call.
  [[nodiscard]] virtual bool has_unread() const = 0;
};

// OutPiece: bytes that stay in place until they have been sent.
class OutPiece {
 public:
  OutPiece() = default;
  explicit OutPiece(ByteQueue own) : own_(std::move(own)), left_(own_.view()) {}
  explicit OutPiece(SharedBytes shared) : shared_(std::move(shared)), left_(shared_.view()) {}

  [[nodiscard]] std::string_view view() const { return left_; }
  [[nodiscard]] size_t size() const { return left_.size(); }
  [[nodiscard]] bool empty() const { return left_.empty(); }
  void consume(size_t count) { left_.remove_prefix(count); }
  // Memory of its own.
  [[nodiscard]] size_t held() const { return own_.capacity(); }
  // When the piece is no longer needed.
  void give_back(StoragePool& storages) {
    left_ = {};
    shared_ = {};
    if (own_.capacity() > 0) storages.give_back(std::exchange(own_, {}));
  }

 private:
  ByteQueue own_;
  SharedBytes shared_;
  std::string_view left_;
};

// OutQueue: what a stream has to send, in order: pieces in storage of their own, pieces that are
// shared with other streams, and last a tail that collects small writes.
//
// Owner: a ByteStream. Limit: none; the stream's owner looks at unsent bytes. An empty queue holds
// no storage, and one that has only a tail allocates none but the pool's.
class OutQueue {
 public:
  explicit OutQueue(StoragePool& storages) : storages_(storages), tail_(storages) {}
  ~OutQueue() { clear(); }
  OutQueue(const OutQueue&) = delete;
  OutQueue& operator=(const OutQueue&) = delete;

  [[nodiscard]] size_t size() const { return pieces_size_ + tail_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] bool has_pieces() const { return first_ < pieces_.size(); }
  [[nodiscard]] size_t held() const { return pieces_held_ + tail_.capacity(); }

  // Copies `parts`, which are `size` bytes together, behind the last byte.
  void append(std::span<const std::string_view> parts, size_t size);
  void push(OutPiece piece);

  // Calls visit(std::string_view) for the first pieces, `most` of them at most.
  template <class Visitor>
  void visit_first(size_t most, Visitor&& visit) const {
    size_t left = most;
    for (size_t i = first_; i < pieces_.size() && left > 0; ++i, --left) visit(pieces_[i].view());
    if (!tail_.empty() && left > 0) visit(tail_.view());
  }
  void consume(size_t count);
  // Takes the first piece out; there must be one.
  OutPiece pop();
  // Gives all storage back.
  void clear();

  // Ends the process if an invariant is broken.
  void check_invariants() const;

 private:
  static constexpr size_t kMaxLeftPlaces = 32;
  void end_tail();
  void add(OutPiece piece);

  StoragePool& storages_;
  // Valid from first_ on; the pieces before have been taken out.
  std::vector<OutPiece> pieces_;
  size_t first_ = 0;
  size_t pieces_size_ = 0;
  size_t pieces_held_ = 0;
  PooledBuffer tail_;      // without storage while it is empty
  size_t last_burst_ = 0;  // what tail_ had to hold the last time
};

}  // namespace stdgate::net
