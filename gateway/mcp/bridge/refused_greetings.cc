#include "gateway/mcp/bridge/refused_greetings.h"

#include <string>
#include <utility>
#include <vector>

#include "gateway/mcp/bridge/mcp_bridge.h"
#include "gateway/pool/handshake.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

void RefusedGreetings::take_refusal(call::CallPtr& call, const rpc::Envelope& refusal) {
  // Another program may have taken the place of the server.
  if (pool::refuses_peer_kind(refusal)) pool_.doubt_peer_kind();
  if (may_be_modern(*call)) ask_shared_child(std::move(call), refusal);
}

void RefusedGreetings::take_second_answer(call::CallPtr& call) {
  if (call->child_kind != PeerKind::stateless) return pass_refusal(call);
  sessions_.find(call->session)->awaits_greeting = false;
  refusals_.of(call->slots).clear();
  count_asked(-1);
  share_children();
}

void RefusedGreetings::pass_refusal(call::CallPtr& call) {
  const call::CallPtr refused = std::move(call);
  chain_.answer(*refused, Outcome::error(), refusals_.of(refused->slots).text);
}

bool RefusedGreetings::may_be_modern(const call::Call& call) const {
  return call.greets && config_.share_modern && pool_.peer_kind() != PeerKind::stateful &&
         pool_.lane().has(call.session) && sessions_.find(call.session) != nullptr;
}

void RefusedGreetings::ask_shared_child(call::CallPtr call, const rpc::Envelope& refusal) {
  session::Session& session = *sessions_.find(call->session);
  session.awaits_greeting = true;
  refusals_.of(call->slots).text = R"("error":)" + std::string(refusal.payload);
  count_asked(1);
  for (call::CallPtr& other : pool_.lane().close(call->session)) {
    chain_.on_fault(std::move(other), rpc::faults::child_failed("the child has refused to begin"));
  }
  sessions_.settle_reading(call->session);
  greet(std::move(call), true);
}

// A shared child answers the greeting with the facts from its own greeting.
void RefusedGreetings::greet(call::CallPtr call, bool at_shared) {
  call->greets = call->introduces = !at_shared;
  const rpc::KnownMessage greeting(services_.dialect.greet(0, call->greeting));
  call->route = {};
  call->at = call::Call::kBelowAll;
  call::Outgoing message(greeting.envelope());
  message.answered_by_handshake = at_shared;
  pool_.send(std::move(call), message);
}

void RefusedGreetings::share_children() {
  if (config_.isolation == config::Isolation::shared) return;
  config_.isolation = config::Isolation::shared;
  own_warm_ = std::exchange(config_.pool.warm, 0);
  pool_.end_warm();
  bridge_.on_children_shared();
  services_.core.observer.on_session_places(services_.backend, pool_.session_places());
  services_.core.log.write(
      LogLevel::info, "sessions share children",
      {{"backend", config_.name}, {"why", "they are of the modern era, which has no sessions"}});
  for (const session::SessionId session : pool_.lane().childless()) move_over(session);
  sessions_.settle_reading();
}

// The session has no use for a child of its own, which would refuse the greeting too.
void RefusedGreetings::move_over(session::SessionId id) {
  const session::Session* const session = sessions_.find(id);
  if (session == nullptr || !session->is_of_client()) return;
  const std::string greeting(pool_.lane().memory_of(id)->greeting());
  std::vector<call::CallPtr> calls = pool_.lane().close(id);
  if (!greeting.empty()) {
    sessions_.introduce(id, greeting);
    bridge_.go_on(id);
  }
  for (call::CallPtr& call : calls) {
    if (call->greets) {
      greet(std::move(call), true);
    } else {
      chain_.on_fault(std::move(call),
                      rpc::faults::child_failed("the server knows no sessions any more"));
    }
  }
}

// The server was rolled back: its processes keep state for each client.
void RefusedGreetings::separate_children() {
  config_.isolation = config::Isolation::session;
  config_.pool.warm = *std::exchange(own_warm_, std::nullopt);
  std::vector<call::CallPtr> calls = bridge_.on_children_separated();
  services_.core.observer.on_session_places(services_.backend, pool_.session_places());
  services_.core.log.write(LogLevel::info, "sessions have children of their own",
                           {{"backend", config_.name}, {"why", "the server is of the legacy era"}});
  sessions_.separate_all();
  for (call::CallPtr& call : calls) go_on_alone(std::move(call));
}

// Only the text of a greeting is kept, so only a greeting can be sent to another child.
void RefusedGreetings::go_on_alone(call::CallPtr call) {
  if (call->greeting.empty() || !pool_.lane().has(call->session)) {
    const auto report = rpc::faults::child_failed("the server is another one now");
    return chain_.on_fault(std::move(call), report);
  }
  greet(std::move(call), false);
}

void RefusedGreetings::note_end(const call::Call& call) {
  count_asked(-1);
  session::Session* const session = sessions_.find(call.session);
  if (session == nullptr || !std::exchange(session->awaits_greeting, false)) return;
  if (pool_.is_draining()) return;
  if (pool_.lane().open(call.session)) return sessions_.settle_lease(call.session);
  session->end(session::SessionEnd::failed, "the child has refused to begin");
}

}  // namespace stdgate::mcp
