#include "transports/net/signals.h"

#include <memory>
#include <utility>

namespace stdgate::net {

struct Signals::Watch {
  uv_signal_t handle{};
  Signals* owner = nullptr;
};

Signals::Signals(Loop& loop, std::function<void(int)> on_signal)
    : loop_(loop), on_signal_(std::move(on_signal)) {}

Signals::~Signals() {
  for (Watch* watch : watches_) {
    watch->owner = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(&watch->handle),
             [](uv_handle_t* handle) { delete static_cast<Watch*>(handle->data); });
  }
}

void Signals::watch(int signal) {
  auto watch = std::make_unique<Watch>();
  watch->owner = this;
  watch->handle.data = watch.get();
  uv_signal_init(loop_.uv(), &watch->handle);
  uv_signal_start(
      &watch->handle,
      [](uv_signal_t* handle, int number) {
        Signals* owner = static_cast<Watch*>(handle->data)->owner;
        if (owner == nullptr) return;
        owner->loop_.refresh_now();
        owner->on_signal_(number);
      },
      signal);
  uv_unref(reinterpret_cast<uv_handle_t*>(&watch->handle));
  watches_.push_back(watch.release());
}

}  // namespace stdgate::net
