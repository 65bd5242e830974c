#include "tests/sim/sim_modern_clients.h"

#include <gtest/gtest.h>

#include <utility>

namespace stdgate::sim {

namespace {

std::string name_of(SimPrincipal principal) {
  return principal == 0 ? std::string() : std::to_string(principal);
}

}  // namespace

SimModernClient::SimModernClient(SimWorld& world, session::Callers& callers, SimOwners& owners,
                                 backend::Upstreams& backends, backend::Backend& backend,
                                 const backend::BackendOptions& options, SimRecords& records,
                                 SimPrincipal principal, const ClientAddress& address)
    : world_(world),
      callers_(callers),
      backends_(backends),
      backend_(backend),
      input_timeout_(options.input_timeout),
      records_(records),
      principal_(principal),
      address_(address),
      repeats_arguments_(world.chance(0.7)),
      calls_(world, owners, options, backend, records, principal, name_of(principal)),
      parser_(backend.envelope_limits()) {
  who_.name = std::to_string(principal);
  EXPECT_TRUE(caller_.take(callers_, *this));
}

SimModernClient::~SimModernClient() { leave_for_good(); }

void SimModernClient::leave_for_good() {
  if (std::exchange(has_left_, true)) return;
  backends_.cancel_calls_of(caller_.caller());
  caller_.release();
  calls_.forget_all();
}

void SimModernClient::act() {
  const uint64_t dice = world_.pick(0, 99);
  if (dice < 4) return leave();
  if (dice < 10) return cancel();
  if (dice < 18) return steal();
  const SimTask task = calls_.new_task();
  SimModernCalls::Retry retry;
  // Answers without a state belong to no former call, so they mean nothing.
  if (task.of_meta.empty() && world_.chance(0.03)) retry.answers = R"("stray":{"action":"accept"})";
  send(task, retry);
}

// Leaves as a client that closes its connection. The client may still answer its questions later.
void SimModernClient::leave() {
  if (calls_.open() > 0) world_.tally().note(Seen::left_open);
  backends_.cancel_calls_of(caller_.caller());
  caller_.release();
  calls_.forget_all();
  EXPECT_TRUE(caller_.take(callers_, *this));
}

void SimModernClient::cancel() {
  const auto id = calls_.some_id();
  if (!id) return;
  std::string text = cancel_text(config::Protocol::mcp, *id);
  const auto document = parser_.parse(text);
  ASSERT_TRUE(document.has_value());
  call::CallContext with = context();
  const AccountRef account = world_.accounts().of({with.principal, address_});
  with.account = account.get();
  backend_.accept(document->messages[0], with);
}

// Sends the state of another principal, with the very request that the state was issued for.
void SimModernClient::steal() {
  const SimStates::State* const state = records_.states.of_other(principal_);
  if (state == nullptr) return;
  const SimTask task{state->method, state->members, state->nonce, "", state->capabilities, ""};
  send(task, {state->text, R"("input-1":{"action":"accept"})"});
}

call::CallContext SimModernClient::context() {
  call::CallContext context;
  context.caller = caller_.caller();
  context.transport = Transport::mcp;
  context.peer_kind = PeerKind::stateless;
  context.arrived = world_.now();
  context.wants_events = true;
  context.principal = principal_ == 0 ? nullptr : &who_;
  context.client = &address_;
  if (repeats_arguments_) context.mirrored = "";
  return context;
}

void SimModernClient::send(const SimTask& task, const SimModernCalls::Retry& retry) {
  if (has_left_) return;
  SimModernCalls::Request request = calls_.make(task, retry);
  const auto document = parser_.parse(request.text);
  ASSERT_TRUE(document.has_value()) << request.text;
  call::CallContext with = context();
  with.tag = request.tag;
  with.timeout = request.timeout;
  const AccountRef account = world_.accounts().of({with.principal, address_});
  with.account = account.get();
  backend_.accept(document->messages[0], with);
}

// --- Messages from the gateway ----------------------------------------------------------------

void SimModernClient::on_reply(session::Tag tag, const session::Reply& reply) {
  auto needed = calls_.check_reply(tag, reply);
  if (needed) plan(*std::move(needed));
}

void SimModernClient::on_event(session::Tag tag, std::string_view notification) {
  calls_.check_event(tag, notification);
}

void SimModernClient::on_cancelled(session::Tag tag) { calls_.check_cancelled(tag); }

std::string SimModernClient::answers_to(const SimNeeded& needed, bool all) {
  std::string answers;
  for (const SimNeeded::Question& question : needed.questions) {
    if (!all && world_.chance(0.6)) continue;
    if (!answers.empty()) answers += ',';
    answers += calls_.answer_to(question);
  }
  return answers;
}

// Decides how the client continues a call that needs input.
void SimModernClient::plan(SimNeeded needed) {
  const std::string answers = answers_to(needed, true);
  const Duration soon = world_.pick_duration(Duration{1}, input_timeout_ * 8 / 10);
  const bool is_of_gateway = !needed.state.starts_with("m-");
  const uint64_t dice = world_.pick(0, 99);
  if (dice < 10) return;
  if (dice < 18) {
    const Duration late = input_timeout_ + world_.pick_duration(Duration{0}, input_timeout_);
    return retry_after(late, needed, {needed.state, answers});
  }
  if (dice < 30) {
    world_.tally().note(Seen::partial_answers);
    return retry_after(soon, needed, {needed.state, answers_to(needed, false)});
  }
  if (dice < 36 && is_of_gateway) {
    retry_after(soon / 2, needed, {needed.state + "0", answers});
  } else if (dice < 42 && is_of_gateway) {
    SimNeeded other = needed;
    other.task.members += R"(,"more":1)";
    retry_after(soon / 2, other, {needed.state, answers});
  } else if (dice < 50) {
    retry_after(soon + world_.pick_duration(Duration{0}, std::chrono::seconds(1)), needed,
                {needed.state, answers});
  }
  retry_after(soon, needed, {needed.state, answers});
}

void SimModernClient::retry_after(Duration delay, SimNeeded needed, SimModernCalls::Retry retry) {
  world_.after(delay, [this, needed = std::move(needed), retry = std::move(retry)] {
    send(needed.task, retry);
  });
}

}  // namespace stdgate::sim
