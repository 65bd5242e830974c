// MemoryStream: a Stream without a socket. The test is its peer, through a MemoryPeer.
//
// Written bytes are taken at once. If the peer takes nothing, they stay unsent. The peer's methods
// call the stream's owner, so a test may call them only from the outermost level.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "transports/net/stream.h"

namespace stdgate::test {

class MemoryStream;

struct MemoryPeer {
  void send(std::string_view bytes);
  void end();             // the peer has finished writing
  void fail(int error);   // the connection breaks
  void set_taking(bool);  // true: takes all unsent bytes, and those to come

  std::string received;
  bool ended = false;              // the stream has finished writing, or is closed
  MemoryStream* stream = nullptr;  // null after the stream's end
};

class MemoryStream final : public net::Stream {
 public:
  explicit MemoryStream(MemoryPeer& peer) : peer_(peer) { peer.stream = this; }
  ~MemoryStream() override {
    close();
    peer_.stream = nullptr;
  }
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;

  void set_payer(const Payer& /*payer*/) override {}
  void set_events(net::StreamEvents& events) override { events_ = &events; }
  void pause_read(PauseReason reason) override { pauses_ |= reason; }
  void resume_read(PauseReason reason) override { pauses_ &= static_cast<uint8_t>(~reason); }
  void write(std::span<const std::string_view> parts) override {
    if (peer_.ended) return;
    for (const std::string_view part : parts) (takes_ ? peer_.received : unsent_) += part;
    was_above_ = was_above_ || unsent_.size() > watermark_;
  }
  using net::Stream::write;
  [[nodiscard]] size_t unsent_bytes() const override { return unsent_.size(); }
  void set_watermark(size_t bytes) override { watermark_ = bytes; }
  void shutdown_write() override { peer_.ended = true; }
  void close() override {
    unsent_.clear();
    peer_.ended = is_closed_ = true;
  }
  [[nodiscard]] uint64_t bytes_read() const override { return read_; }
  [[nodiscard]] uint64_t bytes_written() const override { return peer_.received.size(); }
  [[nodiscard]] uint64_t bytes_taken() const override { return peer_.received.size(); }
  [[nodiscard]] TimePoint waiting_since() const override { return {}; }
  [[nodiscard]] size_t unsent_memory() const override { return unsent_.size(); }
  [[nodiscard]] bool has_peer_left() const override { return has_ended_; }
  [[nodiscard]] bool has_unread() const override { return !input_.empty(); }

  [[nodiscard]] bool is_read() const { return pauses_ == 0; }

 private:
  friend struct MemoryPeer;

  // Delivers the pending bytes and the end, if the owner is reading.
  void deliver() {
    if (!is_read() || is_closed_) return;
    std::string bytes = std::exchange(input_, {});
    read_ += bytes.size();
    if (!bytes.empty()) events_->on_bytes({bytes.data(), bytes.size()});
    if (has_ended_ && is_read() && !is_closed_) events_->on_end();
  }
  void take() {
    peer_.received += std::exchange(unsent_, {});
    if (std::exchange(was_above_, false)) events_->on_writable();
    if (!is_closed_) events_->on_flushed();
  }

  MemoryPeer& peer_;
  net::StreamEvents* events_ = nullptr;
  std::string input_;  // not read yet
  std::string unsent_;
  size_t watermark_ = SIZE_MAX;
  uint64_t read_ = 0;
  uint8_t pauses_ = kNotStarted;
  bool takes_ = true;
  bool was_above_ = false;
  bool has_ended_ = false;
  bool is_closed_ = false;
};

inline void MemoryPeer::send(std::string_view bytes) {
  stream->input_ += bytes;
  stream->deliver();
}

inline void MemoryPeer::end() {
  stream->has_ended_ = true;
  stream->deliver();
}

inline void MemoryPeer::fail(int error) {
  stream->is_closed_ = true;
  stream->events_->on_error(error);
}

inline void MemoryPeer::set_taking(bool takes) {
  stream->takes_ = takes;
  if (!takes) return;
  stream->take();
  if (stream != nullptr) stream->deliver();
}

}  // namespace stdgate::test
