#include "transports/net/byte_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/copy_text.h"

namespace stdgate {

struct ByteStream::Block {
  union {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
  };
  uv_write_t request;
  ByteQueue in_flight;  // does not move while a chunk of it is with libuv; before unsent_
  size_t chunk = 0;     // bytes at its front that libuv is writing; 0: it writes nothing
  ByteStream* owner = nullptr;

  Block() : stream{}, request{} {}

  // Bytes of the chunk that the kernel has not taken yet.
  [[nodiscard]] size_t chunk_left() const {
    return chunk == 0 ? 0 : uv_stream_get_write_queue_size(&stream);
  }

  void close_handle() {
    owner = nullptr;
    uv_close(&handle, [](uv_handle_t* h) { delete static_cast<Block*>(h->data); });
  }

  static Block* of(uv_handle_t* h) { return static_cast<Block*>(h->data); }

  static void allocate(uv_handle_t* h, size_t, uv_buf_t* buffer) {
    const ByteStream* owner = of(h)->owner;
    // Without a buffer libuv leaves the bytes where they are and tells UV_ENOBUFS.
    *buffer = uv_buf_init(nullptr, 0);
    if (owner->pause_reasons_ != 0) return;
    const std::span<char> room = owner->loop_.read_buffer();
    const size_t size = std::min(room.size(), owner->read_share_.left(owner->loop_.turn()));
    if (size > 0) *buffer = uv_buf_init(room.data(), static_cast<unsigned>(size));
  }

  static void read(uv_stream_t* s, ssize_t count, const uv_buf_t* buffer) {
    static_cast<Block*>(s->data)->owner->on_read(count, buffer->base);
  }

  static void written(uv_write_t* r, int status) {
    ByteStream* owner = static_cast<Block*>(r->data)->owner;
    if (owner != nullptr) owner->on_written(status);
  }
};

std::unique_ptr<ByteStream> ByteStream::adopt(Loop& loop, int fd, Kind kind,
                                              ByteStreamEvents& events, int* error) {
  auto block = std::make_unique<Block>();
  *error = kind == Kind::tcp ? uv_tcp_init(loop.uv(), &block->tcp)
                             : uv_pipe_init(loop.uv(), &block->pipe, 0);
  if (*error != 0) {
    ::close(fd);
    return nullptr;
  }
  block->handle.data = block.get();
  block->request.data = block.get();
  *error = kind == Kind::tcp ? uv_tcp_open(&block->tcp, fd) : uv_pipe_open(&block->pipe, fd);
  if (*error != 0) {
    ::close(fd);
    block.release()->close_handle();
    return nullptr;
  }
  return std::unique_ptr<ByteStream>(new ByteStream(loop, events, block.release()));
}

ByteStream::ByteStream(Loop& loop, ByteStreamEvents& events, Block* block)
    : loop_(loop), events_(&events), block_(block) {
  block_->owner = this;
}

ByteStream::~ByteStream() { close(); }

void ByteStream::close() {
  if (block_ == nullptr) return;
  loop_.forget(*this);
  give_back(unsent_);
  // What is in flight ends with the block: the caller may still look at what was taken over.
  std::exchange(block_, nullptr)->close_handle();
}

void ByteStream::pause_read(PauseReason reason) { pause_reasons_ |= reason; }

void ByteStream::resume_read(PauseReason reason) {
  pause_reasons_ &= static_cast<uint8_t>(~reason);
  if (pause_reasons_ != 0 || block_ == nullptr) return;
  if (end_to_report_) loop_.flush_later(*this);
  start_reading();
}

void ByteStream::start_reading() {
  if (reading_ || read_ended_ || error_ != 0) return;
  const int error = uv_read_start(&block_->stream, &Block::allocate, &Block::read);
  reading_ = error == 0;
  if (reading_) return;
  error_to_report_ = error;
  loop_.flush_later(*this);
}

void ByteStream::stop_reading() {
  if (reading_) uv_read_stop(&block_->stream);
  reading_ = false;
}

void ByteStream::on_read(ssize_t count, char* bytes) {
  if (count > 0) {
    loop_.refresh_now();
    bytes_read_ += static_cast<size_t>(count);
    // libuv reads on as long as its buffer gets full. What the end of the turn decides, a pause
    // above all, and other streams should not have to wait for that.
    read_share_.use(loop_.turn(), static_cast<size_t>(count));
    events_->on_bytes({bytes, static_cast<size_t>(count)});
  } else if (count == UV_ENOBUFS) {
    // Else its share is used up, and the next turn finds it readable still.
    if (pause_reasons_ != 0) stop_reading();
  } else if (count == UV_EOF) {
    loop_.refresh_now();
    reading_ = false;
    read_ended_ = end_to_report_ = true;
    end_reading();
  } else if (count < 0) {
    loop_.refresh_now();
    fail(static_cast<int>(count));
  }
}

void ByteStream::end_reading() {
  if (!end_to_report_ || pause_reasons_ != 0) return;
  end_to_report_ = false;
  events_->on_end();
}

void ByteStream::write(std::span<const std::string_view> parts) {
  if (block_ == nullptr || shutdown_asked_ || error_ != 0 || error_to_report_ != 0) return;
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  if (size == 0) return;
  const bool is_large = size >= kDirectWrite && std::ranges::any_of(parts, [](auto part) {
                          return part.size() >= kDirectWrite;
                        });
  if (is_large && block_->in_flight.empty()) {
    write_now(parts);
  } else {
    append(parts, size);
  }
  flushed_to_report_ = true;
  if (unsent_bytes() > watermark_) above_watermark_ = true;
  if (block_->chunk == 0) loop_.flush_later(*this);
}

void ByteStream::write_now(std::span<const std::string_view> parts) {
  size_t taken = offer(parts);
  for (const std::string_view part : parts) {
    const std::string_view left = part.substr(std::min(taken, part.size()));
    taken -= part.size() - left.size();
    if (!take_over(left)) append({&left, 1}, left.size());
  }
}

// Nothing may stand before it: in flight is what goes first.
bool ByteStream::take_over(std::string_view part) {
  if (part.size() < kDirectWrite || !unsent_.empty() || !block_->in_flight.empty()) return false;
  block_->in_flight = loop_.storages().take_over(part);
  return !block_->in_flight.empty();
}

// Writes what is unsent and as much of `parts` as the kernel and the turn's share take; returns how
// much of `parts`.
size_t ByteStream::offer(std::span<const std::string_view> parts) {
  std::array<uv_buf_t, kGather> pieces;
  unsigned count = 0;
  size_t room = write_share_.left(loop_.turn());
  const auto add = [&](std::string_view bytes) {
    bytes = bytes.substr(0, room);
    room -= bytes.size();
    // libuv's buffers are not const, but it only reads what it writes.
    if (!bytes.empty()) pieces[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
  };
  add(unsent_.view());
  for (size_t i = 0; i < parts.size() && count < pieces.size(); ++i) add(parts[i]);

  if (count == 0) return 0;
  const int written = uv_try_write(&block_->stream, pieces.data(), count);
  if (written == UV_EAGAIN) return 0;
  if (written < 0) {
    error_to_report_ = written;
    return 0;
  }
  const auto total = static_cast<size_t>(written);
  const size_t from_unsent = std::min(total, unsent_.size());
  bytes_written_ += total;
  write_share_.use(loop_.turn(), total);
  unsent_.consume(from_unsent);
  return total - from_unsent;
}

void ByteStream::append(std::span<const std::string_view> parts, size_t size) {
  if (size == 0) return;
  if (unsent_.capacity() == 0) unsent_ = loop_.storages().borrow(last_burst_);
  char* at = unsent_.reserve(size);
  for (const std::string_view part : parts) at = copy_text(at, part);
  unsent_.commit(size);
  last_burst_ = unsent_.size();
}

void ByteStream::give_back(ByteQueue& storage) {
  if (storage.capacity() == 0) return;
  loop_.storages().give_back(std::exchange(storage, {}));
}

void ByteStream::flush() {
  end_reading();
  send_unsent();
  report_progress();
}

void ByteStream::send_unsent() {
  if (block_ == nullptr || block_->chunk != 0 || error_ != 0 || error_to_report_ != 0) return;
  if (block_->in_flight.empty()) {
    if (!unsent_.empty()) offer({});
    if (unsent_.empty()) return give_back(unsent_);
    if (error_to_report_ != 0) return;
    block_->in_flight.swap(unsent_);
  }
  submit_chunk();
}

void ByteStream::submit_chunk() {
  Block& block = *block_;
  const size_t share = write_share_.left(loop_.turn());
  if (share == 0) return loop_.flush_later(*this);
  block.chunk = std::min(block.in_flight.size(), share);
  write_share_.use(loop_.turn(), block.chunk);
  const uv_buf_t buffer{block.in_flight.bytes().data(), block.chunk};
  const int error = uv_write(&block.request, &block.stream, &buffer, 1, &Block::written);
  if (error == 0) return;
  block.chunk = 0;
  error_to_report_ = error;
}

void ByteStream::on_written(int status) {
  loop_.refresh_now();
  Block& block = *block_;
  const size_t chunk = std::exchange(block.chunk, 0);
  if (error_ != 0) return give_back(block.in_flight);
  if (status < 0) return fail(status);
  bytes_written_ += chunk;
  block.in_flight.consume(chunk);
  if (block.in_flight.empty()) give_back(block.in_flight);
  send_unsent();
  report_progress();
}

void ByteStream::report_progress() {
  if (error_to_report_ != 0) return fail(error_to_report_);
  if (error_ != 0) return;
  if (above_watermark_ && unsent_bytes() <= watermark_ / 2) {
    above_watermark_ = false;
    events_->on_writable();
  }
  if (block_ == nullptr || unsent_bytes() != 0) return;
  finish_shutdown();
  if (std::exchange(flushed_to_report_, false)) events_->on_flushed();
}

void ByteStream::shutdown_write() {
  if (block_ == nullptr || shutdown_asked_) return;
  shutdown_asked_ = true;
  if (block_->chunk == 0) loop_.flush_later(*this);
}

void ByteStream::finish_shutdown() {
  if (!shutdown_asked_ || shutdown_done_) return;
  shutdown_done_ = true;
  uv_os_fd_t fd = -1;
  if (uv_is_readable(&block_->stream) == 0) {
    close();  // a pipe's writing end has no other way to say it
  } else if (uv_fileno(&block_->handle, &fd) == 0) {
    ::shutdown(fd, SHUT_WR);  // fails only when the peer has gone, which reading tells
  }
}

void ByteStream::fail(int error) {
  if (error_ != 0 || block_ == nullptr) return;
  error_ = error;
  stop_reading();
  give_back(unsent_);
  if (block_->chunk == 0) give_back(block_->in_flight);
  events_->on_error(error);
}

size_t ByteStream::unsent_bytes() const {
  if (block_ == nullptr || error_ != 0) return 0;
  return unsent_.size() + block_->in_flight.size() - block_->chunk + block_->chunk_left();
}

uint64_t ByteStream::bytes_written() const {
  if (block_ == nullptr) return bytes_written_;
  return bytes_written_ + block_->chunk - block_->chunk_left();
}

}  // namespace stdgate
