// GivenUpCalls: the ids of calls that were taken back from a child. A late answer to one of them
// can be recognized.
//
// Owner: the child. Limit: the last kMaxKept ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "gateway/pool/dialect.h"
#include "gateway/rpc/correlator.h"

namespace stdgate::pool {

class GivenUpCalls {
 public:
  static constexpr size_t kMaxKept = 256;

  void add(rpc::WireId id, CancelReason why) {
    if (calls_.size() < kMaxKept) calls_.emplace_back();
    calls_[next_] = {id, why};
    next_ = (next_ + 1) % kMaxKept;
  }
  // Why the call with this id was given up; nothing: the id is not known here.
  [[nodiscard]] std::optional<CancelReason> find(rpc::WireId id) const {
    const auto call = std::ranges::find(calls_, id, &GivenUp::id);
    return call == calls_.end() ? std::nullopt : std::optional(call->why);
  }

 private:
  struct GivenUp {
    rpc::WireId id = 0;
    CancelReason why = CancelReason::client_left;
  };
  std::vector<GivenUp> calls_;
  size_t next_ = 0;  // the next entry to overwrite or add
};

}  // namespace stdgate::pool
