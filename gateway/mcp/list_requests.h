// ListRequests: the gateway's own requests for lists that are under way, and the children that have
// left one unanswered.
//
// Job: take a request back when its child has had it for kMaxWait and another one can be asked,
// else for kMaxAlone. Signs of life of the child do not count: they would keep all calls of the
// backend waiting. Say which child to ask instead. Owner: ListedFilter. Limits: one request at a
// time for each key; the children that run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "gateway/base/time.h"
#include "gateway/call/call.h"
#include "gateway/mcp/list_judge.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

class ListRequests {
 public:
  static constexpr Duration kMaxWait = std::chrono::seconds(5);
  // Where no other child can be asked: some servers are slow.
  static constexpr Duration kMaxAlone = std::chrono::seconds(30);

  using Key = std::pair<ListScope, size_t>;
  // A request that has been taken back.
  using OnLate = std::function<void(const Key& key, const call::Call& own)>;

  ListRequests(const pool::PoolServices& services, pool::Pool& pool, OnLate on_late);

  // The pool gets the call, and has it until remove().
  void add(const Key& key, call::Call& own);
  void remove(const Key& key);

  void note_answer(size_t list, uint64_t child) { silent_.erase({list, child}); }
  void forget_child(uint64_t child);
  // A child to ask for a list that all shared children may answer, if one of them has been silent;
  // 0: any.
  [[nodiscard]] uint64_t preferred_child(size_t list) const;

 private:
  struct Request {
    call::Call* own = nullptr;
    TimePoint due{};
  };

  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  void arm(TimePoint due);
  void look();
  // When it is to be taken back, or looked at again.
  [[nodiscard]] TimePoint due_of(const call::Call& own) const;

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  const OnLate on_late_;
  std::map<Key, Request> requests_;
  std::set<std::pair<size_t, uint64_t>> silent_;  // a list, and the number of a child
  Timer timer_;
};

}  // namespace stdgate::mcp
