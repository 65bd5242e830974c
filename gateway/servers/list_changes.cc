#include "gateway/servers/list_changes.h"

#include <algorithm>
#include <utility>

namespace stdgate::servers {

void ListChanges::gather(uint8_t lists) {
  changed_ = static_cast<uint8_t>(changed_ | lists);
  if (!gather_timer_.armed()) gather_timer_.arm(clock_.now() + kGather);
}

void ListChanges::tell() {
  const uint8_t changed = std::exchange(changed_, uint8_t{0});
  sessions_.tell_changed(changed);
  listening_.tell_changed(changed);
}

void ListChanges::note_clients() {
  for (const auto& member : members_) member->set_heard(is_heard());
}

void ListChanges::arm_retry() {
  if (is_stopped_ || retry_timer_.armed() || !is_heard()) return;
  const bool is_any =
      std::ranges::any_of(members_, [](const auto& member) { return member->has_failed(); });
  if (is_any) retry_timer_.arm(clock_.now() + kRetry);
}

void ListChanges::retry() {
  for (const auto& member : members_) member->retry();
  arm_retry();
}

void ListChanges::stop() {
  is_stopped_ = true;
  retry_timer_.disarm();
}

}  // namespace stdgate::servers
