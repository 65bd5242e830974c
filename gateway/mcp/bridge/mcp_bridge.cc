#include "gateway/mcp/bridge/mcp_bridge.h"

#include <utility>

#include "gateway/mcp/mcp_input.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/mcp/modern_members.h"

namespace stdgate::mcp {

McpBridge::McpBridge(const backend::BridgeParts& parts, const std::string& stamp)
    : parts_(parts),
      modern_(parts.services, parts.pool, parts.chain, parts.callers),
      listening_(parts.services, parts.backend, parts.sessions, parts.pool, parts.callers, stamp),
      trips_(parts.services, parts.pool, parts.sessions, parts.events, parts.chain,
             {parts.input_timeout, parts.has_principals}, parts.traces),
      rounds_(parts.services, parts.pool, parts.sessions, modern_, parts.events, parts.chain,
              parts.input_timeout, parts.traces),
      greetings_(parts.config, parts.services, parts.pool, parts.sessions, parts.chain,
                 parts.events, *this),
      watches_(parts.services, modern_, parts.sessions, parts.callers),
      at_pool_({parts.pool, parts.chain, modern_, trips_, rounds_, watches_}) {}

void McpBridge::add_filter(call::Chain& chain, Place place) {
  switch (place) {
    case Place::above_children:
      return chain.add("modern", modern_);
    case Place::below_answers:
      return chain.add("greetings", greetings_);
    case Place::at_pool:
      return chain.add("bridge", at_pool_);
  }
}

call::EraChanges McpBridge::changes_of(const rpc::Envelope& request,
                                       const call::CallContext& context) const {
  const bool is_shared = !parts_.pool.has_lease(context.session);
  return modern_.changes_of(request, context.era, is_shared,
                            parts_.sessions.stamp_of(context.session));
}

bool McpBridge::take(call::CallPtr& call, const call::Outgoing& message) {
  if (parts_.pool.era() != Era::legacy) return false;
  trips_.take(std::move(call), message);
  return true;
}

// --- Sessions at modern children --------------------------------------------------------------

void McpBridge::note_greeting(session::Session& session, std::string_view greeting) const {
  const bool is_shared = parts_.config.isolation == config::Isolation::shared;
  if (!is_shared || greeting.size() > pool::SessionMemory::kMaxGreeting) return;
  session.greeting = greeting;
  session.is_askable = kInput.is_askable(greeting);
  session.stamp = modern_stamp(greeting);
  session.stamp_of_client = session.stamp.size();
  note_severity(session);
}

void McpBridge::note_severity(session::Session& session) const {
  if (session.stamp.empty()) return;
  session.stamp.resize(session.stamp_of_client);
  // A modern child logs nothing for a request without a level; a legacy child logs if none was set.
  const auto severity = session.severity.value_or(session::LogVerbosity::kDefault);
  session.stamp.append(",\"").append(kLogLevelKey).append("\":\"");
  session.stamp.append(session::severity_name(severity)).append("\"");
}

std::vector<call::CallPtr> McpBridge::on_children_separated() {
  parts_.note_sharing(false);
  std::vector<call::CallPtr> calls = rounds_.withdraw_all();
  for (call::CallPtr& call : parts_.pool.withdraw_shared_of_sessions()) {
    if (!call->is_own) {
      calls.push_back(std::move(call));
    } else if (call->listens) {
      parts_.chain.end(*call, Outcome::cancelled(),
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
  parts_.chain.on_lost(call, call->request, report);
  if (call != nullptr && !modern_.listen_again(call)) {
    parts_.events.on_fault(std::move(call), report);
  }
}

}  // namespace stdgate::mcp
