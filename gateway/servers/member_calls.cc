#include "gateway/servers/member_calls.h"

#include <algorithm>
#include <utility>

namespace stdgate::servers {

void MemberCalls::add(session::Tag tag, MemberCall call) {
  if (call.call != nullptr) tags_.of(call.call->slots) = tag;
  calls_.emplace(tag, std::move(call));
}

std::optional<MemberCall> MemberCalls::take(session::Tag tag) {
  const auto found = calls_.find(tag);
  if (found == calls_.end()) return std::nullopt;
  MemberCall call = std::move(found->second);
  calls_.erase(found);
  return call;
}

MemberCall* MemberCalls::find(session::Tag tag) {
  const auto found = calls_.find(tag);
  return found == calls_.end() ? nullptr : &found->second;
}

session::Tag MemberCalls::tag_of(const call::Call& call) const {
  const session::Tag* const tag = tags_.find(call.slots);
  return tag != nullptr && calls_.contains(*tag) ? *tag : 0;
}

std::vector<session::Tag> MemberCalls::tags(
    const std::function<bool(const MemberCall&)>& fits) const {
  std::vector<session::Tag> found;
  for (const auto& [tag, call] : calls_) {
    if (fits(call)) found.push_back(tag);
  }
  std::ranges::sort(found);
  return found;
}

bool MemberCalls::uses(const Part& part) const {
  return std::ranges::any_of(calls_,
                             [&part](const auto& call) { return call.second.part == &part; });
}

}  // namespace stdgate::servers
