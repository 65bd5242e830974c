#include "gateway/app/sealed_states.h"

#include "gateway/app/sealed_session_ids.h"

namespace stdgate::app {

SealedStates::SealedStates(const std::vector<seal::Key>& keys, seal::RandomBytes random,
                           const std::string& replica, unsigned worker)
    : sealer_(keys, std::move(random)), front_(home_of(replica, worker)) {}

// What stands before the sealed part is authenticated too, so that a text has one name.
std::string SealedStates::seal_named(std::string_view plain, std::string_view context) {
  return front_ + sealer_.seal_same(plain, std::string(context).append(1, '\0').append(front_));
}

std::optional<std::string> SealedStates::open_named(std::string_view sealed,
                                                    std::string_view context) {
  const auto front = home_part(sealed);
  if (!front) return std::nullopt;
  return sealer_.open(sealed.substr(front->size()),
                      std::string(context).append(1, '\0').append(*front));
}

}  // namespace stdgate::app
