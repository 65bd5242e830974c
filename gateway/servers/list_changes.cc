#include "gateway/servers/list_changes.h"

#include <algorithm>
#include <utility>

namespace stdgate::servers {

void ListChanges::gather(const Member* member, const Audience& audience, uint8_t lists) {
  if (lists == 0 || is_stopped_) return;
  const auto [place, is_new] = paces_.try_emplace({member, audience});
  Pace& pace = place->second;
  pace.lists = static_cast<uint8_t>(pace.lists | lists);
  if (!is_new) return;
  // Changes of several members at about the same time are told together.
  const TimePoint latest = clock_.now() + kGather;
  const bool is_soon = tell_timer_.armed() && tell_timer_.due() < latest;
  pace.due = is_soon ? std::max(tell_timer_.due(), clock_.now()) : latest;
  tell_timer_.arm_by(pace.due);
}

void ListChanges::tell() {
  const TimePoint now = clock_.now();
  ListNews news;
  TimePoint next = TimePoint::max();
  for (auto place = paces_.begin(); place != paces_.end();) {
    Pace& pace = place->second;
    if (pace.due <= now && pace.lists == 0) {
      place = paces_.erase(place);
      continue;
    }
    if (pace.due <= now) {
      news.add(place->first.second, std::exchange(pace.lists, uint8_t{0}));
      pace.due = now + kQuiet;
    }
    next = std::min(next, pace.due);
    ++place;
  }
  tell_timer_.arm_by(next);
  if (!news.any()) return;
  sessions_.tell_changed(news);
  listening_.tell_changed(news);
}

void ListChanges::note_clients() {
  if (!clients_.take_change()) return;
  for (const auto& member : members_.all()) member->settle_listening();
}

void ListChanges::arm_retry() {
  if (is_stopped_ || retry_timer_.armed() || !clients_.any()) return;
  TimePoint due = TimePoint::max();
  for (const auto& member : members_.all()) due = std::min(due, member->retry_due());
  // One that is asked at the moment was due before.
  if (due != TimePoint::max()) retry_timer_.arm(std::max(due, clock_.now() + MemberState::kRetry));
}

void ListChanges::retry() {
  for (const auto& member : members_.all()) member->retry();
  arm_retry();
}

void ListChanges::stop() {
  is_stopped_ = true;
  retry_timer_.disarm();
}

}  // namespace stdgate::servers
