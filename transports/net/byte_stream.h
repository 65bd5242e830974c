// ByteStream: a connected socket or pipe with corked writes and reading that can be paused.
//
// Job: bytes in, bytes out. Writes are collected until the end of the loop's turn, then written
// with one call; what the kernel does not take is kept and sent when it does. Owner: the connection
// or child that reads it. Its libuv handle lives in a block of its own that ends in the close
// callback, so a ByteStream may be destroyed at any time outside of its own callbacks (retire it
// there; close() it too if no more events are wanted until it is gone). Limit: none on unsent
// bytes; the owner looks at unsent_bytes() and decides. A peer that is gone is on_error(EPIPE or
// ECONNRESET) only if the process ignores SIGPIPE: libuv writes without MSG_NOSIGNAL, and pipes
// have no such flag.
#pragma once

#include <uv.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gateway/base/byte_queue.h"
#include "transports/net/loop.h"

namespace stdgate {

// Told from the outermost level of the loop, never from within a call on the stream.
class ByteStreamEvents {
 public:
  virtual ~ByteStreamEvents() = default;
  virtual void on_bytes(std::span<char> bytes) = 0;  // valid during the call, may be changed
  virtual void on_end() = 0;                         // the peer has finished writing
  virtual void on_error(int error) = 0;  // libuv's code; nothing is read or written any more
  virtual void on_writable() {}          // unsent bytes fell to half of the watermark
  virtual void on_flushed() {}           // nothing unsent is left
};

class ByteStream final : public Flushable {
 public:
  enum class Kind : uint8_t { tcp, pipe };  // pipe: Unix sockets, pipes and socket pairs

  // An open stream on `fd`, which it owns from now on, whatever happens. Null, with libuv's
  // negative code in `*error`, on failure.
  static std::unique_ptr<ByteStream> adopt(Loop& loop, int fd, Kind kind, ByteStreamEvents& events,
                                           int* error);
  ~ByteStream() override;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // From now on `events` is told. May be called from within a call of the former receiver.
  void set_events(ByteStreamEvents& events) { events_ = &events; }

  // Reading goes on while no reason to pause is set. It starts paused by kNotStarted.
  enum PauseReason : uint8_t { kNotStarted = 1, kBusy = 2, kBackPressure = 4 };
  void pause_read(PauseReason reason);
  void resume_read(PauseReason reason);

  // Copies `bytes` behind what is unsent. Parts of kDirectWrite and more are offered to the kernel
  // at once, with what stands around them, and only the rest is copied, or taken over with the
  // storage it lies in (StorageOffer). Dropped after shutdown_write(), close() and an error.
  void write(std::string_view bytes) { write({&bytes, 1}); }
  void write(std::span<const std::string_view> parts);
  static constexpr size_t kDirectWrite = 64 << 10;
  // So much is read and written in one turn of the loop; then it is the others' turn, and the
  // turn's end may pause reading. Smaller writes cost large messages more: the reader wakes for
  // each.
  static constexpr size_t kReadShare = 128 << 10;
  static constexpr size_t kWriteShare = 256 << 10;
  [[nodiscard]] size_t unsent_bytes() const;
  // on_writable() is told when unsent bytes, once above `bytes`, have fallen to half of it.
  void set_watermark(size_t bytes) { watermark_ = bytes; }

  // Finishes writing: the peer reads end of stream after what is unsent. Reading goes on.
  void shutdown_write();

  // Closes the descriptor now; unsent bytes are dropped and no event follows.
  void close();

  [[nodiscard]] uint64_t bytes_read() const { return bytes_read_; }
  [[nodiscard]] uint64_t bytes_written() const;  // taken by the kernel

 private:
  struct Block;  // the libuv handle and the write in flight; frees itself in the close callback
  static constexpr size_t kGather = 16;  // pieces of one direct write

  // What is left of a turn's bytes.
  class Share {
   public:
    explicit Share(size_t whole) : whole_(whole) {}
    [[nodiscard]] size_t left(uint64_t turn) const { return turn == turn_ ? left_ : whole_; }
    void use(uint64_t turn, size_t count) {
      left_ = left(turn) - std::min(count, left(turn));
      turn_ = turn;
    }

   private:
    const size_t whole_;
    size_t left_ = 0;
    uint64_t turn_ = UINT64_MAX;  // that left_ is about
  };

  ByteStream(Loop& loop, ByteStreamEvents& events, Block* block);

  void flush() override;  // called by the loop
  void on_read(ssize_t count, char* bytes);
  void on_written(int status);
  void start_reading();
  void stop_reading();
  void end_reading();
  void write_now(std::span<const std::string_view> parts);
  size_t offer(std::span<const std::string_view> parts);
  void append(std::span<const std::string_view> parts, size_t size);  // all of them together
  bool take_over(std::string_view part);
  void send_unsent();
  void submit_chunk();
  void finish_shutdown();
  void report_progress();
  void fail(int error);
  void give_back(ByteQueue& storage);

  Loop& loop_;
  ByteStreamEvents* events_;
  Block* block_;           // null after close()
  ByteQueue unsent_;       // behind the bytes in flight; without storage while empty
  size_t last_burst_ = 0;  // what unsent_ had to hold the last time
  size_t watermark_ = SIZE_MAX;
  uint64_t bytes_read_ = 0;
  uint64_t bytes_written_ = 0;  // without the chunk in flight
  int error_ = 0;               // on_error() was told it
  int error_to_report_ = 0;     // found within a call of the owner; flush() tells it
  Share read_share_{kReadShare};
  Share write_share_{kWriteShare};
  uint8_t pause_reasons_ = kNotStarted;
  // libuv reads. Goes on while paused until bytes come: a pause shorter than that costs no call.
  bool reading_ = false;
  bool read_ended_ = false;     // the end of the stream was read
  bool end_to_report_ = false;  // while paused; told when reading is resumed
  bool above_watermark_ = false;
  bool flushed_to_report_ = false;  // something was written since on_flushed()
  bool shutdown_asked_ = false;
  bool shutdown_done_ = false;
};

}  // namespace stdgate
