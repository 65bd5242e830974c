#include <algorithm>

#include "gateway/remote/remote.h"

namespace stdgate::remote {

Duration Backoff::next() {
  const Duration whole = next_;
  next_ = std::min(2 * next_, kLongest);
  std::uniform_int_distribution<Duration::rep> part(0, (whole / 2).count());
  return whole / 2 + Duration(part(random_));
}

}  // namespace stdgate::remote
