#include "transports/net/byte_stream.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::net {

struct ByteStream::Block {
  union {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
  };
  uv_write_t request;
  OutPiece in_flight;  // does not move while a chunk of it is with libuv; before unsent_
  size_t chunk = 0;    // bytes at its front that libuv is writing; 0: it writes nothing
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

std::unique_ptr<ByteStream> ByteStream::adopt(Loop& loop, int fd, Kind kind, StreamEvents& events,
                                              int* error) {
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

ByteStream::ByteStream(Loop& loop, StreamEvents& events, Block* block)
    : loop_(loop), events_(&events), block_(block), unsent_(loop.storages()) {
  block_->owner = this;
}

ByteStream::~ByteStream() { close(); }

void ByteStream::close() {
  if (block_ == nullptr) return;
  loop_.forget(*this);
  unsent_.clear();
  // Writes in flight end with the block: the caller may still look at storage that was taken over.
  std::exchange(block_, nullptr)->close_handle();
  account_unsent();
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
    // libuv reads on as long as its buffer gets full. The end of the turn decides about pauses, and
    // other streams should not have to wait for that.
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
  check_in_debug();
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
  size_t unsent = unsent_bytes();
  if (unsent == 0) waiting_since_ = loop_.now();
  unsent += size;
  if (size < StoragePool::kShared) {
    unsent_.append(parts, size);
  } else if (size >= kDirectWrite && block_->in_flight.empty() && !unsent_.has_pieces() &&
             std::ranges::any_of(parts, [](auto part) { return part.size() >= kDirectWrite; })) {
    write_now(parts);
    unsent = unsent_bytes();
  } else {
    keep(parts, size);
  }
  flushed_to_report_ = true;
  if (unsent > watermark_) above_watermark_ = true;
  if (block_->chunk == 0) loop_.flush_later(*this);
  if (unsent_.size() >= kDirectWrite) account_unsent();
}

void ByteStream::write_now(std::span<const std::string_view> parts) {
  size_t taken = offer(parts);
  for (const std::string_view part : parts) {
    const std::string_view left = part.substr(std::min(taken, part.size()));
    taken -= part.size() - left.size();
    keep({&left, 1}, left.size());
  }
}

void ByteStream::keep(std::span<const std::string_view> parts, size_t size) {
  const auto is_large = [](auto part) { return part.size() >= StoragePool::kShared; };
  if (std::ranges::none_of(parts, is_large)) return unsent_.append(parts, size);
  for (const std::string_view part : parts) {
    if (is_large(part)) {
      keep_large(part);
    } else {
      unsent_.append({&part, 1}, part.size());
    }
  }
}

void ByteStream::keep_large(std::string_view part) {
  StoragePool& storages = loop_.storages();
  if (SharedBytes shared = storages.share(part); !shared.empty()) {
    return unsent_.push(OutPiece(std::move(shared)));
  }
  // Storage that is taken over goes where it outlives a close(), so nothing may stand before it.
  const bool is_first = unsent_.empty() && block_->in_flight.empty();
  if (is_first && part.size() >= kDirectWrite) {
    block_->in_flight = OutPiece(storages.take_over(part));
  }
  if (block_->in_flight.empty() || !is_first) unsent_.append({&part, 1}, part.size());
}

// Writes what is unsent and as much of `parts` as the kernel and the turn's share take; returns how
// much of `parts`.
size_t ByteStream::offer(std::span<const std::string_view> parts) {
  std::array<uv_buf_t, kGather> pieces;
  unsigned count = 0;
  size_t room = write_room();
  const auto add = [&](std::string_view bytes) {
    bytes = bytes.substr(0, room);
    room -= bytes.size();
    // libuv's buffers are not const, but it only reads what it writes.
    if (!bytes.empty()) pieces[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
  };
  unsent_.visit_first(pieces.size(), add);
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
  use_write_room(total);
  unsent_.consume(from_unsent);
  note_taken(total);
  return total - from_unsent;
}

// Left of this turn.
size_t ByteStream::write_room() const {
  const uint64_t turn = loop_.turn();
  return std::min(write_share_.left(turn), loop_.write_share().left(turn));
}

void ByteStream::use_write_room(size_t count) {
  write_share_.use(loop_.turn(), count);
  loop_.write_share().use(loop_.turn(), count);
}

void ByteStream::note_taken(size_t count) {
  if (count > 0) waiting_since_ = loop_.now();
}

void ByteStream::flush() {
  end_reading();
  send_unsent();
  account_unsent();
  report_progress();
  check_in_debug();
}

void ByteStream::send_unsent() {
  if (block_ == nullptr || block_->chunk != 0 || error_ != 0 || error_to_report_ != 0) return;
  if (block_->in_flight.empty()) {
    if (!unsent_.empty()) offer({});
    if (unsent_.empty() || error_to_report_ != 0) return;
    block_->in_flight = unsent_.pop();
  }
  submit_chunk();
}

void ByteStream::submit_chunk() {
  Block& block = *block_;
  const size_t share = write_room();
  if (share == 0) return loop_.flush_later(*this);
  block.chunk = std::min(block.in_flight.size(), share);
  use_write_room(block.chunk);
  const uv_buf_t buffer{const_cast<char*>(block.in_flight.view().data()), block.chunk};
  const int error = uv_write(&block.request, &block.stream, &buffer, 1, &Block::written);
  if (error == 0) return;
  block.chunk = 0;
  error_to_report_ = error;
}

void ByteStream::on_written(int status) {
  loop_.refresh_now();
  Block& block = *block_;
  const size_t chunk = std::exchange(block.chunk, 0);
  if (error_ != 0) return block.in_flight.give_back(loop_.storages());
  if (status < 0) return fail(status);
  bytes_written_ += chunk;
  note_taken(chunk);
  block.in_flight.consume(chunk);
  if (block.in_flight.empty()) block.in_flight.give_back(loop_.storages());
  send_unsent();
  account_unsent();
  report_progress();
  check_in_debug();
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
  unsent_.clear();
  if (block_->chunk == 0) block_->in_flight.give_back(loop_.storages());
  account_unsent();
  events_->on_error(error);
}

size_t ByteStream::unsent_bytes() const {
  if (block_ == nullptr || error_ != 0) return 0;
  if (block_->in_flight.empty()) return unsent_.size();
  return unsent_.size() + block_->in_flight.size() - block_->chunk + block_->chunk_left();
}

size_t ByteStream::unsent_memory() const {
  if (block_ == nullptr || error_ != 0) return 0;
  return unsent_.held() + block_->in_flight.held();
}

uint64_t ByteStream::bytes_taken() const {
  const uint64_t written = bytes_written();
  uv_os_fd_t fd = -1;
  int waiting = 0;  // in the kernel, not acknowledged
  if (block_ == nullptr || block_->handle.type != UV_TCP || uv_fileno(&block_->handle, &fd) != 0 ||
      ::ioctl(fd, SIOCOUTQ, &waiting) != 0) {
    return written;
  }
  return written - std::min<uint64_t>(written, static_cast<uint64_t>(waiting));
}

void ByteStream::check_invariants() const {
  unsent_.check_invariants();
  STDGATE_CHECK(!end_to_report_ || read_ended_);
  STDGATE_CHECK(!shutdown_done_ || shutdown_asked_);
  if (block_ == nullptr) return STDGATE_CHECK(unsent_.empty() && held_.bytes() == 0);
  STDGATE_CHECK(block_->owner == this);
  STDGATE_CHECK(block_->chunk <= block_->in_flight.size());
  STDGATE_CHECK(block_->chunk_left() <= block_->chunk);
  STDGATE_CHECK(!reading_ || (!read_ended_ && error_ == 0));
  if (error_ != 0) return STDGATE_CHECK(unsent_.empty() && held_.bytes() == 0);
  STDGATE_CHECK(!shutdown_done_ || unsent_bytes() == 0);
}

void ByteStream::check_in_debug() const {
#ifndef NDEBUG
  check_invariants();
#endif
}

bool ByteStream::has_unread() const {
  uv_os_fd_t fd = -1;
  if (block_ == nullptr || uv_fileno(&block_->handle, &fd) != 0) return false;
  pollfd state{fd, POLLIN, 0};
  return ::poll(&state, 1, 0) > 0;
}

bool ByteStream::has_peer_left() const {
  uv_os_fd_t fd = -1;
  if (block_ == nullptr || uv_fileno(&block_->handle, &fd) != 0) return true;
  pollfd state{fd, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0;  // POLLERR and POLLHUP are always reported
}

uint64_t ByteStream::bytes_written() const {
  if (block_ == nullptr) return bytes_written_;
  return bytes_written_ + block_->chunk - block_->chunk_left();
}

}  // namespace stdgate::net
