#include "transports/stdio/usage_ledger.h"

#include <algorithm>

namespace stdgate::stdio {

void UsageLedger::open(std::string_view backend, pid_t guard) {
  accounts_.try_emplace(std::string(backend)).first->second.trees.push_back({guard, 0});
}

void UsageLedger::close(std::string_view backend, pid_t guard, double cpu_seconds) {
  const auto account = accounts_.find(backend);
  if (account == accounts_.end()) return;
  std::vector<Tree>& trees = account->second.trees;
  const auto tree = std::ranges::find(trees, guard, &Tree::guard);
  if (tree == trees.end()) return;
  account->second.ended_cpu_seconds += std::max(cpu_seconds, tree->cpu_seconds);
  trees.erase(tree);
}

ProcessUsage UsageLedger::usage(std::string_view backend) {
  ProcessUsage sum;
  const auto account = accounts_.find(backend);
  if (account == accounts_.end()) return sum;
  sum.cpu_seconds = account->second.ended_cpu_seconds;
  for (Tree& tree : account->second.trees) {
    const ProcessUsage usage = process_tree_usage(tree.guard);
    tree.cpu_seconds = std::max(tree.cpu_seconds, usage.cpu_seconds);
    sum.cpu_seconds += tree.cpu_seconds;
    sum.resident_bytes += usage.resident_bytes;
  }
  return sum;
}

}  // namespace stdgate::stdio
