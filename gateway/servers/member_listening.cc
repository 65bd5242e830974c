#include "gateway/servers/member_listening.h"

#include <algorithm>

#include "gateway/mcp/era_bridge.h"
#include "gateway/pool/backend_status.h"
#include "gateway/rpc/known_message.h"

namespace stdgate::servers {

void MemberListening::settle(backend::Upstream& upstream,
                             const std::vector<const policy::Principal*>& wanted, bool may_wake) {
  std::map<std::string, const policy::Principal*> missing;
  for (const policy::Principal* const one : wanted) missing.emplace(policy::identity_of(one), one);
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (missing.erase(call->first) == 1) {
      ++call;
      continue;
    }
    const Call over = std::move(call->second);
    call = calls_.erase(call);
    cancel(upstream, over);
  }
  if (missing.empty()) return;
  const pool::BackendStatus status = upstream.status();
  if (status.peer_kind != PeerKind::stateless || (status.asleep && !may_wake)) return;
  for (const auto& [identity, principal] : missing) {
    Call& call = calls_[identity];
    call.tag = ++last_tag_;
    if (principal != nullptr) call.principal = *principal;
    const std::optional<policy::Principal> kept = call.principal;  // it may end at once
    call::CallContext context = context_for(kept);
    context.tag = call.tag;
    std::string text = mcp::listen_request(stamp_, true, {});
    const rpc::KnownMessage known(text);
    upstream.accept({known.envelope()}, context);
  }
}

call::CallContext MemberListening::context_for(const std::optional<policy::Principal>& of) const {
  call::CallContext context;
  context.caller = caller_.caller();
  context.peer_kind = PeerKind::stateless;
  context.arrived = clock_.now();
  context.is_own = context.wants_events = true;
  if (of) context.principal = &*of;
  return context;
}

void MemberListening::cancel(backend::Upstream& upstream, const Call& call) const {
  std::string text =
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"listen"}})";
  const rpc::KnownMessage known(text);
  upstream.take_cancel({known.envelope()}, context_for(call.principal));
}

bool MemberListening::note_end(session::Tag tag) {
  if (tag < kFirstTag) return false;
  std::erase_if(calls_, [tag](const auto& call) { return call.second.tag == tag; });
  return true;
}

}  // namespace stdgate::servers
