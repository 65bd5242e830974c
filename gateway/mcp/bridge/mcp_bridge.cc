#include "gateway/mcp/bridge/mcp_bridge.h"

#include <utility>

#include "gateway/backend/session_delivery.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/mcp/mcp_input.h"
#include "gateway/mcp/mcp_revision.h"

namespace stdgate::mcp {

void BridgeFilter::on_request(call::CallPtr& call, const call::Request& request) {
  const auto& [message, method, intent, context] = request;
  if (context.peer_kind == PeerKind::stateless && !call->needs_stateless)
    parts_.trips.note_request(message);
  if (!parts_.pool.lane().has(context.session)) parts_.rounds.note(message, method, *call);
  const auto own = parts_.modern.own_answer(method, *call);
  if (own.empty()) return;
  const call::CallPtr answered = std::move(call);
  parts_.chain.answer_result(*answered, own);
}

void BridgeFilter::on_answer(call::CallPtr& call, call::Answer& answer) {
  const bool is_taken = (call->alone && parts_.trips.take_answer(call, answer.message)) ||
                        parts_.rounds.take_answer(call, answer.message);
  if (is_taken) {
    call = nullptr;
  } else if (call->listens && answer.outcome == Outcome::ok()) {
    // The result names the call by its id again.
    const call::CallPtr ended = std::move(call);
    parts_.modern.end_listening(*ended);
  }
}

// The client's answers were for the child that has been lost.
void BridgeFilter::on_lost(call::CallPtr& call, std::string_view /*text*/,
                           const rpc::FaultReport& /*report*/) {
  if (!parts_.rounds.has_asked_for(*call)) return;
  parts_.chain.on_fault(std::move(call),
                        rpc::faults::child_failed("the child that has asked has ended"));
}

void BridgeFilter::on_end(const call::Call& call, call::End& end) {
  if (call.alone) parts_.trips.note_end(call, end.outcome);
  if (call.listens) {
    parts_.watches.close(call);
  } else if (!call.request.empty()) {
    parts_.rounds.note_end(call, end.outcome);
  }
}

McpBridge::McpBridge(const backend::BridgeParts& parts, const McpDialect& dialect)
    : parts_(parts),
      filters_(dialect),
      modern_(parts.services, dialect, parts.pool, parts.callers),
      listening_(parts.services, parts.backend, parts.sessions, parts.pool, parts.callers, dialect),
      trips_(parts.services, dialect, parts.pool, parts.sessions,
             {parts.input_timeout, parts.has_principals}, parts.traces),
      rounds_(parts.services, parts.pool, parts.sessions, modern_, parts.input_timeout,
              parts.traces),
      greetings_(parts.config, parts.services, parts.pool, parts.sessions, *this),
      watches_(parts.services, modern_, parts.sessions, parts.callers),
      at_pool_({parts.pool, parts.services.chain, modern_, trips_, rounds_, watches_}) {}

void McpBridge::add_filters(Place place) {
  call::Chain& chain = parts_.services.chain;
  const pool::FilterServices services{parts_.services, parts_.pool, parts_.next,
                                      parts_.input_timeout};
  switch (place) {
    case Place::above_rules:
      return filters_.add_outer(services);
    case Place::below_rules:
      return filters_.add_judging(services);
    case Place::above_children:
      return chain.add("modern", modern_);
    case Place::inner:
      return filters_.add_inner(services);
    case Place::below_answers:
      return chain.add("greetings", greetings_);
    case Place::at_pool:
      return chain.add("bridge", at_pool_);
  }
}

call::PeerChanges McpBridge::changes_of(const rpc::Envelope& request,
                                        const call::CallContext& context) const {
  // A session's own child is of its client's kind.
  if (parts_.pool.lane().has(context.session)) return {};
  const bool may_be_stamped = parts_.pool.peer_kind() != PeerKind::stateful;
  return modern_.changes_of(
      request, context.peer_kind,
      may_be_stamped ? listening_.stamp_of(context.session) : std::string_view(), context.params);
}

bool McpBridge::take(call::CallPtr& call, const call::Outgoing& message) {
  if (parts_.pool.peer_kind() != PeerKind::stateful) return false;
  trips_.take(std::move(call), message);
  return true;
}

// --- Sessions at modern children --------------------------------------------------------------

void McpBridge::note_greeting(session::Session& session, std::string_view greeting) const {
  const bool is_shared = parts_.config.isolation == config::Isolation::shared;
  if (!is_shared || greeting.size() > pool::SessionMemory::kMaxGreeting) return;
  session.greeting = greeting;
  BridgedSession& bridged = BridgedSession::made_for(session);
  bridged.is_askable = kInput.is_askable(greeting);
  bridged.stamp = modern_stamp(greeting);
  bridged.stamp_of_client = bridged.stamp.size();
  note_severity(session);
}

void McpBridge::note_severity(session::Session& session) const {
  BridgedSession* const bridged = BridgedSession::of(session);
  if (bridged == nullptr || bridged->stamp.empty()) return;
  bridged->stamp.resize(bridged->stamp_of_client);
  // A modern child logs nothing for a request without a level; a legacy child logs if none was set.
  const auto severity = session.severity.value_or(session::LogVerbosity::kDefault);
  bridged->stamp.append(",\"").append(kLogLevelKey).append("\":\"");
  bridged->stamp.append(session::severity_name(severity)).append("\"");
}

std::vector<call::CallPtr> McpBridge::on_children_separated() {
  parts_.note_sharing(false);
  std::vector<call::CallPtr> calls = rounds_.take_all();
  // Calls of sessions that share children, and calls that listen for them.
  const auto is_affected = [this](const call::Call& call) {
    const bool is_shared = !call.session.is_none() && !parts_.pool.lane().has(call.session);
    return is_shared || (call.listens && call.is_own);
  };
  for (call::CallPtr& call : parts_.pool.withdraw(is_affected)) {
    if (!call->is_own) {
      calls.push_back(std::move(call));
    } else if (call->listens) {
      parts_.services.chain.end(*call, Outcome::cancelled(),
                                pool::cancel_reason_text(pool::CancelReason::client_left));
    }
  }
  return calls;
}

// --- Events of the pool -----------------------------------------------------------------------

void McpBridge::on_call_alone(call::CallPtr call, const call::Outgoing& message) {
  if (parts_.config.serves_one) {
    trips_.take_turn(std::move(call), message);
  } else {
    trips_.take(std::move(call), message);
  }
}

void McpBridge::on_listening(const call::Call& call, const pool::ChildFacts& facts) {
  std::vector<std::string> keys = modern_.listened_keys(call, facts);
  watches_.open(call, keys);
  modern_.begin_listening(call, keys, facts);
}

void McpBridge::on_listener_lost(call::CallPtr call, const rpc::FaultReport& report) {
  parts_.services.chain.on_lost(call, call->request, report);
  if (call != nullptr && !modern_.listen_again(call)) {
    parts_.services.chain.on_fault(std::move(call), report);
  }
}

}  // namespace stdgate::mcp
