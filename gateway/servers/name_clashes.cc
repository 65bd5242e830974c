#include "gateway/servers/name_clashes.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

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
