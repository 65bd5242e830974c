#include "tests/bench/micro/case.h"

#include <iterator>

namespace stdgate::bench {

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto* make : {rpc_cases, websocket_cases, metrics_cases, core_cases, schema_cases}) {
    std::vector<Case> some = make();
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
  }
  return all;
}

}  // namespace stdgate::bench
