#include "transports/net/departure_watch.h"

#include <fcntl.h>
#include <uv.h>

#include <memory>
#include <utility>

#include "transports/net/file_descriptor.h"

namespace stdgate::net {

struct DepartureWatch::Block {
  uv_poll_t handle{};
  DepartureWatch* owner = nullptr;
  FileDescriptor fd;
};

DepartureWatch::DepartureWatch(Loop& loop, int fd, std::function<void()> on_left)
    : loop_(loop), on_left_(std::move(on_left)) {
  auto block = std::make_unique<Block>();
  block->fd.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!block->fd.is_open() || uv_poll_init(loop.uv(), &block->handle, block->fd.get()) != 0) return;
  block->owner = this;
  block->handle.data = block.get();
  block_ = block.release();
}

DepartureWatch::~DepartureWatch() {
  if (block_ == nullptr) return;
  block_->owner = nullptr;
  uv_poll_stop(&block_->handle);
  uv_close(reinterpret_cast<uv_handle_t*>(&block_->handle),
           [](uv_handle_t* handle) { delete static_cast<Block*>(handle->data); });
}

void DepartureWatch::start() {
  if (block_ == nullptr) return;
  uv_poll_start(&block_->handle, UV_DISCONNECT, [](uv_poll_t* handle, int /*status*/, int /*e*/) {
    DepartureWatch* const owner = static_cast<Block*>(handle->data)->owner;
    if (owner == nullptr) return;
    owner->stop();
    owner->loop_.refresh_now();
    owner->on_left_();
  });
}

void DepartureWatch::stop() {
  if (block_ != nullptr) uv_poll_stop(&block_->handle);
}

}  // namespace stdgate::net
