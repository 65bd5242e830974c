#include <array>

#include "tests/cost/cost_case.h"

namespace stdgate::test {

std::span<const CostGroup> cost_groups() {
  static constexpr std::array<CostGroup, 6> kGroups = {{{"text", &text_costs},
                                                        {"head", &head_costs},
                                                        {"piece", &piece_costs},
                                                        {"table", &table_costs},
                                                        {"connection", &connection_costs},
                                                        {"core", &core_costs}}};
  return kGroups;
}

}  // namespace stdgate::test
