#include "gateway/call/rule_filter.h"

#include <utility>

#include "gateway/call/clear_list.h"
#include "gateway/call/name_table.h"

namespace stdgate::call {

void RuleFilter::judge(CallPtr& call, const Request& request) {
  const policy::Principal* const principal = request.context.principal;
  const CallRuling ruling = rules_.judge(request.message, request.method, principal);
  if (ruling.rejection != nullptr) {
    return chain_.on_fault(std::move(call),
                           rpc::faults::because(rpc::Fault::invalid_request, ruling.rejection));
  }
  switch (ruling.verdict) {
    case policy::Verdict::allowed:
      if (const ListShape* const list = services_.protocol.list_shape(request.method)) {
        cuts_.of(call->slots) = rules_.cut_of(*list, principal);
      }
      return;
    case policy::Verdict::needs_scope:
      services_.observer.on_rejected(services_.backend, Rejection::insufficient_scope);
      return chain_.on_fault(std::move(call), rpc::faults::insufficient_scope(ruling.scopes));
    case policy::Verdict::denied:
      break;
  }
  services_.observer.on_rejected(services_.backend, Rejection::denied);
  const std::string_view name = ruling.name.substr(0, NameTable::kMaxName);
  const PeerKind peer_kind = call->client_kind.value_or(PeerKind::stateful);
  const CallPtr refused = std::move(call);
  chain_.answer_error(*refused,
                      services_.protocol.absence(request.method, ruling.element, name, peer_kind),
                      Outcome::of(rpc::Fault::denied), "no rule allows it");
}

// A list of which readers could see more than what is left of it is shown to nobody.
void RuleFilter::show(CallPtr& call, Answer& answer, const ListCut& cut) {
  if (!has_clear_list(answer, cut.list->member)) {
    return chain_.on_fault(std::move(call), unclear_list());
  }
  answer.payload = rules_.seen(cut, answer.payload);
}

Passage RuleFilter::on_notification(const Notification& notification) {
  if (!rules_.any() ||
      rules_.judge(notification.message, notification.method, notification.context.principal)
              .verdict == policy::Verdict::allowed) {
    return Passage::open;
  }
  services_.observer.on_rejected(services_.backend, Rejection::denied);
  return Passage::denied;
}

}  // namespace stdgate::call
