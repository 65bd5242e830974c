// MemberCalls: the calls of a virtual server that its members have.
//
// Job: hand a call on under a number of the gateway's own, and find it again by that, whatever the
// member says of it. Owner: the virtual server. Limit: the members' bounds of calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/call/call_store.h"
#include "gateway/servers/kept_request.h"
#include "gateway/servers/virtual_session.h"
#include "gateway/session/reply_sink.h"

namespace stdgate::servers {

// A call that a member has. `call` is null if the gateway listens for one of its listeners.
struct MemberCall {
  call::CallPtr call;
  size_t member = 0;
  backend::Upstream* upstream = nullptr;
  Part* part = nullptr;  // null: it stands alone
  std::shared_ptr<KeptRequest> kept = nullptr;
  std::vector<size_t> others{};     // members that are asked if this one does not know it
  uint64_t listener = 0;            // 0: none
  std::vector<std::string> uris{};  // what it listens for
};

class MemberCalls {
 public:
  explicit MemberCalls(call::CallStore& store) : tags_(store.reserve<session::Tag>()) {}

  // The number under which the next call is handed on.
  session::Tag next_tag() { return ++last_tag_; }
  void add(session::Tag tag, MemberCall call);
  // Nothing: it is not there any more.
  std::optional<MemberCall> take(session::Tag tag);
  [[nodiscard]] MemberCall* find(session::Tag tag);
  // The tag of a client's call; 0: no member has it.
  [[nodiscard]] session::Tag tag_of(const call::Call& call) const;
  // Those that fit.
  std::vector<session::Tag> tags(const std::function<bool(const MemberCall&)>& fits) const;
  [[nodiscard]] size_t size() const { return calls_.size(); }
  [[nodiscard]] bool uses(const Part& part) const;

 private:
  const call::Slot<session::Tag> tags_;
  std::unordered_map<session::Tag, MemberCall> calls_;
  session::Tag last_tag_ = 0;
};

}  // namespace stdgate::servers
