// SimKept: what modern children have answered that others may be told too, and until when: the
// gateway may give it to no one else, and not for longer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tests/sim/sim_states.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

class SimKept {
 public:
  struct Answer {
    std::string method;
    SimPrincipal principal = 0;
    bool is_public = false;
    TimePoint until{};
    uint64_t order = 0;
  };

  explicit SimKept(SimWorld& world) : world_(world) {}

  // A child has answered the request with this nonce.
  void note_given(const std::string& nonce, Answer answer);
  // Somebody has heard that a list has changed. `notification`: the method.
  void note_change(std::string_view notification);
  // A child that sessions and calls share has ended, and the next one may be another program.
  void note_exit() { exited_ = ++order_; }
  // The answer to `nonce` is given to another request, with `ttl_ms` left.
  void check_hit(const std::string& nonce, std::string_view method, SimPrincipal principal,
                 uint64_t ttl_ms) const;
  // The same, while nothing runs; also of what may not be kept longer, or was asked by the gateway.
  void check_remembered(const std::string& nonce, std::string_view method) const;

 private:
  SimWorld& world_;
  std::map<std::string, Answer> answers_;                 // by nonce
  std::map<std::string, uint64_t, std::less<>> changed_;  // by method of the list
  uint64_t exited_ = 0;
  uint64_t order_ = 0;
};

}  // namespace stdgate::sim
