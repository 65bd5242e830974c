// ByteStream: a connected socket or pipe: the Stream at the bottom.
//
// Job: bytes in, bytes out. Writes are collected until the end of the loop's turn, then written
// with one call. Bytes that the kernel does not take are kept, and sent when it does. Owner: the
// connection or child that reads it. The libuv handle lives in a block of its own, which ends in
// the close callback. So a ByteStream may be destroyed at any time outside its own callbacks
// (retire it there; close() it too if no more events are wanted until it is gone). Limit: none on
// unsent bytes; the owner checks unsent_bytes() and decides, and its Payer pays for their memory. A
// peer that has gone is reported as on_error(EPIPE or ECONNRESET) only if the process ignores
// SIGPIPE: libuv writes without MSG_NOSIGNAL, and pipes have no such flag.
#pragma once

#include <uv.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/byte_storage.h"
#include "transports/net/loop.h"
#include "transports/net/stream.h"

namespace stdgate::net {

class ByteStream final : public Stream, public Flushable {
 public:
  enum class Kind : uint8_t { tcp, pipe };  // pipe: Unix sockets, pipes and socket pairs

  // An open stream on `fd`, which it owns from now on, whatever happens. Null, with libuv's
  // negative code in `*error`, on failure.
  static std::unique_ptr<ByteStream> adopt(Loop& loop, int fd, Kind kind, StreamEvents& events,
                                           int* error);
  ~ByteStream() override;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  void set_payer(const Payer& payer) override { held_.move_to(payer); }
  void set_events(StreamEvents& events) override { events_ = &events; }
  void pause_read(PauseReason reason) override;
  void resume_read(PauseReason reason) override;

  // Copies `parts` behind what is unsent. Parts of kDirectWrite and more are offered to the kernel
  // at once, with their neighbours, and only the rest is copied, or taken over with the storage it
  // lies in (StorageOffer), or shared with others (SharedOffer).
  void write(std::span<const std::string_view> parts) override;
  using Stream::write;
  static constexpr size_t kDirectWrite = 64 << 10;
  // The most that one stream reads and writes in a turn of the loop, so that others get their turn
  // and reading can be paused at the end of this one. Smaller writes would slow large messages: the
  // reader wakes for each. Loop::kWriteShare bounds what all streams write together.
  static constexpr size_t kReadShare = 128 << 10;
  static constexpr size_t kWriteShare = 256 << 10;
  [[nodiscard]] size_t unsent_bytes() const override;
  void set_watermark(size_t bytes) override { watermark_ = bytes; }

  void shutdown_write() override;
  void close() override;  // the descriptor, now

  [[nodiscard]] uint64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] uint64_t bytes_written() const override;
  // Over TCP the acknowledged bytes, which grow even where a slow network makes the socket writable
  // only every few minutes.
  [[nodiscard]] uint64_t bytes_taken() const override;
  [[nodiscard]] TimePoint waiting_since() const override { return waiting_since_; }
  [[nodiscard]] size_t unsent_memory() const override;
  [[nodiscard]] bool has_peer_left() const override;
  [[nodiscard]] bool has_unread() const override;

  // Ends the process if an invariant is broken.
  void check_invariants() const;

 private:
  struct Block;  // the libuv handle and the write in flight; frees itself in the close callback
  static constexpr size_t kGather = 16;  // pieces of one direct write

  ByteStream(Loop& loop, StreamEvents& events, Block* block);

  void flush() override;  // called by the loop
  void on_read(ssize_t count, char* bytes);
  void on_written(int status);
  void start_reading();
  void stop_reading();
  void end_reading();
  void write_now(std::span<const std::string_view> parts);
  size_t offer(std::span<const std::string_view> parts);
  void keep(std::span<const std::string_view> parts, size_t size);  // all of them together
  void keep_large(std::string_view part);
  void send_unsent();
  void submit_chunk();
  [[nodiscard]] size_t write_room() const;
  void use_write_room(size_t count);
  void finish_shutdown();
  void report_progress();
  void fail(int error);
  void note_taken(size_t count);
  void account_unsent() { held_.set(unsent_memory()); }
  void check_in_debug() const;

  Loop& loop_;
  StreamEvents* events_;
  Block* block_;                     // null after close()
  OutQueue unsent_;                  // behind the bytes in flight
  Share held_{{}, Holding::unsent};  // unsent_memory(), as it was at the end of the last turn
  TimePoint waiting_since_{};
  size_t watermark_ = SIZE_MAX;
  uint64_t bytes_read_ = 0;
  uint64_t bytes_written_ = 0;  // without the chunk in flight
  int error_ = 0;               // on_error() was told it
  int error_to_report_ = 0;     // found within a call of the owner; flush() tells it
  TurnShare read_share_{kReadShare};
  TurnShare write_share_{kWriteShare};
  uint8_t pause_reasons_ = kNotStarted;
  // libuv reads. Goes on while paused until bytes come: a pause shorter than that costs no call.
  bool reading_ = false;
  bool read_ended_ = false;     // the end of the stream was read
  bool end_to_report_ = false;  // it was read while paused; reported on resume
  bool above_watermark_ = false;
  bool flushed_to_report_ = false;  // something was written since on_flushed()
  bool shutdown_asked_ = false;
  bool shutdown_done_ = false;
};

}  // namespace stdgate::net
