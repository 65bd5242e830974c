#include "gateway/servers/members.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace stdgate::servers {
namespace {

using AllMembers = std::vector<std::unique_ptr<Member>>;

// Whether names with these prefixes can be the same.
bool may_clash(std::string_view one, std::string_view other) {
  return one.starts_with(other) || other.starts_with(one);
}

bool may_clash(const AllMembers& members) {
  for (size_t i = 0; i < members.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (may_clash(members[i]->config().prefix, members[k]->config().prefix)) return true;
    }
  }
  return false;
}

}  // namespace

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

void NameClashes::review(const AllMembers& members) {
  if (told_.size() >= kMaxTold || !may_clash(members)) return;
  review(ListKind::tools, members);
  review(ListKind::prompts, members);
}

void NameClashes::review(ListKind kind, const AllMembers& members) {
  std::unordered_map<std::string_view, const Member*> shown;
  for (const auto& member : members) {
    MemberView* const view = member->common_view();
    if (view == nullptr) continue;
    for (const Element& element : view->list(kind).elements->all()) {
      const Member* const first = shown.emplace(element.shown, member.get()).first->second;
      if (first == member.get() || told_.size() >= kMaxTold) continue;
      std::string key(facts_of(kind).method);
      key.append("\n").append(element.shown).append("\n").append(member->name());
      if (!told_.insert(std::move(key)).second) continue;
      log_.write(LogLevel::warn, "members show the same name",
                 {{"server", server_},
                  {"list", facts_of(kind).method},
                  {"element", element.shown},
                  {"shown", first->name()},
                  {"left_out", member->name()},
                  {"what", kind == ListKind::tools ? "give one of them another prefix, or another "
                                                     "name by tools.rename"
                                                   : "give one of them another prefix"}});
    }
  }
}

}  // namespace stdgate::servers
