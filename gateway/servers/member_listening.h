// MemberListening: listens at a member of the modern era for changes of its lists. Its children
// report them only to a client that listens.
//
// Job: keep one such call in the gateway's own name, or one for each principal where each has
// children of its own. The calls exist so that the children report; who hears of it is the member's
// ListWatch. Owner: the member. Limit: Member::kMaxViews principals.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/policy/principal.h"
#include "gateway/session/reply_sink.h"

namespace stdgate::servers {

class MemberListening {
 public:
  // Tags of these calls, and those above; no other request of a member has one of them.
  static constexpr session::Tag kFirstTag = uint64_t{1} << 63;

  MemberListening(const Clock& clock, const std::string& stamp, const session::CallerSlot& caller)
      : clock_(clock), stamp_(stamp), caller_(caller) {}

  // Listens for these principals from now on; null stands for all clients. `may_wake`: also at a
  // server that sleeps.
  void settle(backend::Upstream& upstream, const std::vector<const policy::Principal*>& wanted,
              bool may_wake);
  // A call has ended. False: it is none of these.
  bool note_end(session::Tag tag);
  // The calls have been cancelled.
  void forget() { calls_.clear(); }
  [[nodiscard]] size_t size() const { return calls_.size(); }

 private:
  struct Call {
    session::Tag tag;
    std::optional<policy::Principal> principal;
  };

  void cancel(backend::Upstream& upstream, const Call& call) const;
  [[nodiscard]] call::CallContext context_for(const std::optional<policy::Principal>& of) const;

  const Clock& clock_;
  const std::string& stamp_;
  const session::CallerSlot& caller_;
  session::Tag last_tag_ = kFirstTag;
  std::map<std::string, Call> calls_;  // by identity
};

}  // namespace stdgate::servers
