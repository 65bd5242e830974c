#include "transports/net/errands.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::net {

struct Errands::Errand {
  uv_work_t request{};
  Errands* owner = nullptr;  // null: it is gone
  std::function<void()> work;
  std::function<void()> done;
};

// One thread suffices; libuv would start four with the first errand, and end the process if it may
// not have them.
Errands::Errands(Loop& loop) : loop_(loop) { ::setenv("UV_THREADPOOL_SIZE", "1", 0); }

Errands::~Errands() {
  for (Errand* const errand : under_way_) errand->owner = nullptr;
}

void Errands::start(std::function<void()> work, std::function<void()> done) {
  auto* const errand = new Errand{{}, this, std::move(work), std::move(done)};
  errand->request.data = errand;
  under_way_.insert(errand);
  const int error = uv_queue_work(
      loop_.uv(), &errand->request,
      [](uv_work_t* request) { static_cast<Errand*>(request->data)->work(); },
      [](uv_work_t* request, int /*cancelled*/) {
        const std::unique_ptr<Errand> back(static_cast<Errand*>(request->data));
        if (back->owner == nullptr) return;
        back->owner->loop_.refresh_now();
        back->owner->under_way_.erase(back.get());
        back->done();
      });
  STDGATE_CHECK(error == 0);  // it fails without a function only
}

}  // namespace stdgate::net
