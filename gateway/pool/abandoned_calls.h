// AbandonedCalls: calls whose callers no longer wait, but that a child may still be working on.
//
// Job: tell whether one of them may have caused a message of the child. A call counts until its
// late answer comes, or the child ends. Time does not end it: a child may report about a call after
// an hour of silence. Owner: the child. Limit: kMaxEntries calls. Beyond it the set counts as
// neither empty nor of one session for the rest of the child's life.
#pragma once

#include <cstddef>
#include <vector>

#include "gateway/rpc/correlator.h"
#include "gateway/session/session_sink.h"

namespace stdgate::pool {

class AbandonedCalls {
 public:
  static constexpr size_t kMaxEntries = 256;

  // `session`: none if the call had no session.
  void add(rpc::WireId id, session::SessionId session);
  // The late answer to this call has come. Without effect for any other id.
  void finish(rpc::WireId id);

  [[nodiscard]] bool empty() const { return calls_.empty() && !overflowed_; }
  // Whether all calls belong to this session; true if there are no calls.
  [[nodiscard]] bool are_all_of(session::SessionId session) const;
  // The session of any one call; none if there are no calls, or if that call had no session.
  [[nodiscard]] session::SessionId some_session() const;
  [[nodiscard]] size_t size() const { return calls_.size(); }

 private:
  struct AbandonedCall {
    rpc::WireId id;
    session::SessionId session;
  };
  std::vector<AbandonedCall> calls_;
  bool overflowed_ = false;  // some calls are not in `calls_`
};

}  // namespace stdgate::pool
