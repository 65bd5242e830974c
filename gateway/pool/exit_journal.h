// ExitJournal: the last children of a pool that have ended, for /debug/state.
//
// Job: keep how each child ended, and its last lines of stderr without known secrets. Owner:
// Children. Limits: kMaxOfAKind failures and as many other exits, so that children which come and
// go with their sessions do not push failures out.
#pragma once

#include <deque>
#include <vector>

#include "gateway/pool/backend_status.h"
#include "gateway/pool/child_end.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::pool {

class Child;

class ExitJournal {
 public:
  static constexpr size_t kMaxOfAKind = 5;

  explicit ExitJournal(const PoolServices& services) : services_(services) {}

  void note(const Child& child, const ChildEnd& end, bool failed);
  // Newest first.
  [[nodiscard]] std::vector<ChildExit> exits() const;

  // Cuts the merged exits of several journals to what one journal would have kept, newest first.
  static void keep_last(std::vector<ChildExit>& exits);

 private:
  struct Entry {
    TimePoint at{};
    ChildExit exit;
  };

  [[nodiscard]] std::string shown(const std::string& text) const;

  const PoolServices& services_;
  std::deque<Entry> failed_;  // oldest first
  std::deque<Entry> fine_;    // the same
};

}  // namespace stdgate::pool
