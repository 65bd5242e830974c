#include "gateway/backend/list_watches.h"

#include "gateway/pool/dialect.h"

namespace stdgate::backend {

void ListWatches::tell_changed(uint8_t lists, std::string_view identity) {
  if (lists == 0) return;
  for_each([=](ListWatch& watch) { watch.on_lists_changed(lists, identity); });
}

void ListWatches::tell_restart(std::string_view identity) {
  for_each([=](ListWatch& watch) { watch.on_restart(identity); });
}

size_t ListWatches::resting() const {
  size_t calls = 0;
  for (const auto& kept : watches_) {
    if (const auto watch = kept.lock()) calls += watch->resting();
  }
  return calls;
}

void ListWatches::tell_sleep() {
  for_each([](ListWatch& watch) { watch.on_sleep(); });
}

void ListWatches::tell_awake() {
  for_each([](ListWatch& watch) { watch.on_awake(); });
}

void ListWatches::for_each(const std::function<void(ListWatch&)>& visit) {
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  // By index, because a watch that is told may add another one.
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (const auto watch = watches_[i].lock()) visit(*watch);
  }
}

bool ListWatchFilter::on_child_message(call::ChildMessage& message) {
  if (const auto change = pool::change_told_by(message, dialect_)) {
    watches_.tell_changed(change->list);
  }
  return true;
}

}  // namespace stdgate::backend
