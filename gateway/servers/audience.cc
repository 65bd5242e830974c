#include "gateway/servers/audience.h"

#include "gateway/base/check.h"

namespace stdgate::servers {

size_t Presence::size() const {
  size_t size = 0;
  for (const auto& [identity, count] : counts_) size += count;
  return size;
}

void Presence::come(const std::string& identity, As as) {
  if (++counts_[identity] == 1) is_changed_ = true;
  if (as == As::listener && ++listeners_ == 1) is_changed_ = true;
}

void Presence::go(const std::string& identity, As as) {
  const auto found = counts_.find(identity);
  STDGATE_CHECK(found != counts_.end());
  if (as == As::listener && --listeners_ == 0) is_changed_ = true;
  if (--found->second != 0) return;
  counts_.erase(found);
  is_changed_ = true;
}

}  // namespace stdgate::servers
