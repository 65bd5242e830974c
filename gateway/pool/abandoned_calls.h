// AbandonedCalls: calls whose callers no longer wait, but that a child may still be working on.
//
// Job: tell whether one of them may have caused a message of the child. A call counts until its
// late answer comes, or the child ends. Time does not end it: a child may report about a call after
// an hour of silence. Owner: the child. Limit: kMaxEntries calls. Beyond it the set counts as
// neither empty nor of one session for the rest of the child's life.
//
// GivenUpCalls: recognizes late answers to calls that were taken back, by the ids of the last such
// calls.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "gateway/pool/dialect.h"
#include "gateway/rpc/correlator.h"
#include "gateway/session/sinks.h"

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
  // A message of the child was withheld because of these calls. True for the first one.
  bool note_withheld() { return !std::exchange(has_withheld_, true); }
  // Messages have been withheld, and will be.
  [[nodiscard]] bool withhold() const { return has_withheld_ && !empty(); }

 private:
  struct AbandonedCall {
    rpc::WireId id;
    session::SessionId session;
  };
  std::vector<AbandonedCall> calls_;
  bool overflowed_ = false;  // some calls are not in `calls_`
  bool has_withheld_ = false;
};

// Owner: the child. Limit: the last kMaxKept ids.
class GivenUpCalls {
 public:
  static constexpr size_t kMaxKept = 256;

  void add(rpc::WireId id, CancelReason why);
  // Why the call with this id was given up; nothing: the id is not known here.
  [[nodiscard]] std::optional<CancelReason> find(rpc::WireId id) const;

 private:
  struct GivenUp {
    rpc::WireId id = 0;
    CancelReason why = CancelReason::client_left;
  };
  std::vector<GivenUp> calls_;
  size_t next_ = 0;  // the next entry to overwrite or add
};

}  // namespace stdgate::pool
