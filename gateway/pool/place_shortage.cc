#include "gateway/pool/place_shortage.h"

#include <algorithm>
#include <string>

namespace stdgate::pool {

void PlaceShortage::note(size_t at_work, size_t places) {
  if (at_work <= places) return;
  missing_ = std::max(missing(), at_work - places);
  seen_ = now();
  if (missing_ <= told_ && now() - told_at_ < kToldEvery) return;
  told_ = missing_;
  told_at_ = now();
  const std::string hint = "raise backends." + services_.config.name + ".pool.max by " +
                           std::to_string(missing_) +
                           " (the reload replaces all its processes); with each turn a session "
                           "loses what its server keeps in memory";
  services_.core.log.write(LogLevel::warn, "sessions take turns",
                           {{"backend", services_.config.name},
                            {"sessions", uint64_t{at_work}},
                            {"places", uint64_t{places}},
                            {"missing", uint64_t{missing_}},
                            {"hint", hint}});
}

size_t PlaceShortage::missing() const {
  return missing_ > 0 && now() - seen_ < kRemembered ? missing_ : 0;
}

}  // namespace stdgate::pool
