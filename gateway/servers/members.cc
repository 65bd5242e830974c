#include "gateway/servers/members.h"

#include <algorithm>
#include <utility>

namespace stdgate::servers {

size_t Members::place_of(const config::MemberConfig& wanted) const {
  const auto found = std::ranges::find_if(
      all_, [&wanted](const auto& member) { return member->name() == wanted.backend; });
  return static_cast<size_t>(found - all_.begin());
}

std::vector<size_t> Members::replace(const std::vector<config::MemberConfig>& wanted,
                                     const Make& make) {
  std::vector<size_t> renewed;
  order_.clear();
  for (const config::MemberConfig& one : wanted) {
    const size_t place = place_of(one);
    order_.push_back(place);
    if (place == all_.size()) {
      all_.push_back(make(one));
      continue;
    }
    Member& present = *all_[place];
    if (!present.has_left() && present.config() == one) continue;
    present.leave();
    auto made = make(one);
    made->succeed(present);
    all_[place] = std::move(made);
    renewed.push_back(place);
  }
  for (size_t place = 0; place < all_.size(); ++place) {
    const bool stays = std::ranges::find(order_, place) != order_.end();
    if (!stays && !all_[place]->has_left()) all_[place]->leave();
  }
  return renewed;
}

}  // namespace stdgate::servers
