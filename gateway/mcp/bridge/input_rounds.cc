#include "gateway/mcp/bridge/input_rounds.h"

#include <algorithm>
#include <utility>

#include "gateway/call/call.h"
#include "gateway/mcp/bridge/session_listening.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

namespace {

constexpr const char* kDeclined = "the client has not answered what the server wants to know";
constexpr TimePoint kNotNeeded = pool::ChildListener::kNotNeeded;

}  // namespace

InputRounds::InputRounds(const pool::PoolServices& services, pool::Pool& pool,
                         backend::SessionRouter& sessions, const ModernCalls& modern,
                         const Duration& input_timeout, call::TraceFilter& traces)
    : services_(services),
      pool_(pool),
      sessions_(sessions),
      modern_(modern),
      chain_(services.chain),
      input_timeout_(input_timeout),
      traces_(traces),
      asked_(services.calls.reserve<Asked>()) {}

void InputRounds::note(const rpc::Envelope& request, std::string_view method, call::Call& call) {
  if (call.client_kind == PeerKind::stateless || pool_.peer_kind() == PeerKind::stateful) return;
  const session::Session* const session = sessions_.find(call.session);
  const BridgedSession* const bridged = session == nullptr ? nullptr : BridgedSession::of(*session);
  if (bridged == nullptr || !bridged->is_askable || !kInput.may_need_input(method)) return;
  if (kept_ + request.text.size() > services_.config.pool.queue_bytes) return;
  call.request = request.text;
  kept_ += request.text.size();
}

// --- Questions of the child -------------------------------------------------------------------

bool InputRounds::take_answer(call::CallPtr& call, const rpc::Envelope& answer) {
  if (call->child_kind != PeerKind::stateless || call->client_kind == PeerKind::stateless ||
      call->session.is_none()) {
    return false;
  }
  const auto demands = kInput.demands(answer);
  if (!demands) return false;
  if (pool_.is_draining()) {
    chain_.on_fault(std::move(call), rpc::faults::shutting_down());
    return true;
  }
  if (++asked_.of(call->slots).times > kMaxRounds) {
    fail(std::move(call), "the server wants to know more and more");
    return true;
  }
  if (!has_room(demands->state.size())) {
    chain_.on_fault(std::move(call),
                    rpc::faults::overloaded("too many calls wait for their clients"));
    return true;
  }
  if (const MemoryLack lack = call->held.lack(); lack != MemoryLack::none) {
    chain_.on_fault(std::move(call), rpc::faults::holds_too_much(lack));
    return true;
  }
  const uint64_t number = ++begun_;
  if (const char* const why = ask_all(number, *call, *demands)) {
    withdraw_questions(call->session, number);
    fail(std::move(call), why);
    return true;
  }
  const bool returns = services_.config.pool.sticky && !demands->state.empty();
  Round round{
      .call = *call,
      .state = std::string(demands->state),
      .child = returns ? call->child : 0,
      .open = demands->all.size(),
      .expires = std::min(now() + input_timeout_, call::latest_end(*call, services_.config)),
      .held = Share(call->held.payer(), Holding::calls)};
  round.charge();
  if (round.open == 0) {
    go_on(std::move(call), round);
    return true;
  }
  services_.core.observer.on_call_parked(services_.backend);
  asked_.of(call->slots).round = number;
  rounds_bytes_ += round.bytes();
  chain_.keep(std::move(call), round.expires);
  rounds_.emplace(number, std::move(round));
  return true;
}

// Whether one more call with a text of this size may wait for its client.
bool InputRounds::has_room(size_t bytes) const {
  return rounds_.size() < services_.config.pool.queue &&
         kept_ + rounds_bytes_ + bytes <= services_.config.pool.queue_bytes;
}

const char* InputRounds::ask_all(uint64_t number, const call::Call& call,
                                 const InputDemands& demands) {
  session::Session* const session = sessions_.find(call.session);
  if (demands.is_malformed) return "the server has answered input_required without a question";
  if (call.request.empty() || session == nullptr) return "the server asks, and nobody can answer";
  if (demands.all.size() > kMaxQuestions) return "the server wants to know too much at once";
  if (!demands.all.empty() && !session->sink->awaits_requests()) {
    return "the client has no stream on which it could be asked";
  }
  for (const InputDemand& demand : demands.all) {
    const rpc::KnownMessage known(
        rpc::spelled_request_text("0", rpc::string_content(demand.method), demand.params));
    std::string scratch;
    const std::string_view method = known.envelope().decoded_method(scratch);
    if (kInput.judge(known.envelope(), method, session->greeting).verdict !=
        InputRuling::Verdict::allowed) {
      return "the server asks for what the client has not declared";
    }
    if (!sessions_.questions().ask(*session, {0, demand.key, number}, call.tag, known.envelope())) {
      return "the client has too many unanswered requests";
    }
  }
  return nullptr;
}

// --- Answers of the client --------------------------------------------------------------------

void InputRounds::on_round_answer(uint64_t number, std::string_view key,
                                  const rpc::Envelope* answer) {
  const auto found = rounds_.find(number);
  const bool is_kept = found != rounds_.end() && found->second.call.place == call::CallPlace::held;
  if (!is_kept) return;  // the call is ending
  if (answer == nullptr || answer->kind != rpc::MessageKind::result) {
    return fail(end(found, ParkedEnd::given_up), kDeclined);
  }
  Round& round = found->second;
  rounds_bytes_ -= round.bytes();
  if (!round.answers.empty()) round.answers += ',';
  round.answers.append(key).append(":").append(answer->payload);
  round.charge();
  rounds_bytes_ += round.bytes();
  if (round.answers.size() > services_.limits.message) {
    return fail(end(found, ParkedEnd::given_up), "the client's answers are too large");
  }
  if (--round.open > 0) return;
  call::CallPtr call = chain_.take_kept(round.call);
  asked_.of(call->slots).round = 0;
  go_on(std::move(call), take_out(found, ParkedEnd::resumed));
}

// Sends the same request with another id.
void InputRounds::go_on(call::CallPtr call, const Round& round) {
  const rpc::KnownMessage former{std::string(call->request)};
  const rpc::KnownMessage known(kInput.with_answers(former.envelope(), round.answers, round.state));
  const rpc::Envelope& sent = known.envelope();
  call::Outgoing message(sent);
  message.account = call->held.account();
  if (!call->progress_token.empty()) {
    std::string scratch;
    const auto intent =
        services_.dialect.read_client(sent, sent.decoded_method(scratch), call::Reading());
    if (intent) message.progress_token = place_of(intent->progress_token, sent.text);
  }
  const session::Session* const session = sessions_.find(call->session);
  const BridgedSession* const bridged = session == nullptr ? nullptr : BridgedSession::of(*session);
  const call::PeerChanges changes = modern_.changes_of(
      sent, call->client_kind,
      bridged == nullptr ? std::string_view() : std::string_view(bridged->stamp));
  message.inserted = changes.view();
  call->route = {round.child, round.child != 0, changes.peer_kind};
  traces_.tell_child(sent, *call, message);
  call->heard = now();
  services_.calls.deadlines().remove(*call);  // still there in a round without questions
  call->deadline = call::due_after(*call, call->heard, services_.config);
  call->cancelled = false;
  call->at = call::Call::kBelowAll;
  pool_.send(std::move(call), message);
}

TimePoint InputRounds::needed_until(uint64_t child) const {
  TimePoint until = kNotNeeded;
  for (const auto& [number, round] : rounds_) {
    if (round.child == child) until = std::max(until, round.expires);
  }
  return until;
}

// --- Ends -------------------------------------------------------------------------------------

void InputRounds::fail(call::CallPtr call, std::string_view why) {
  chain_.answer_error(*call, {rpc::RpcError::internal_error, std::string(why)});
}

void InputRounds::withdraw_questions(session::SessionId id, uint64_t number) {
  session::Session* const session = sessions_.find(id);
  if (session != nullptr) sessions_.questions().withdraw(*session, number);
}

InputRounds::Round InputRounds::take_out(Rounds::iterator round, ParkedEnd how) {
  Round taken = std::move(rounds_.extract(round).mapped());
  rounds_bytes_ -= taken.bytes();
  services_.core.observer.on_parked_call_ended(services_.backend, how);
  return taken;
}

void InputRounds::forget(Rounds::iterator round, ParkedEnd how) {
  const uint64_t number = round->first;
  const session::SessionId session = take_out(round, how).call.session;
  withdraw_questions(session, number);
}

call::CallPtr InputRounds::end(Rounds::iterator round, ParkedEnd how) {
  call::CallPtr call = chain_.take_kept(round->second.call);
  asked_.of(call->slots).round = 0;
  forget(round, how);
  return call;
}

std::vector<call::CallPtr> InputRounds::take_all() {
  std::vector<call::CallPtr> calls;
  while (!rounds_.empty()) calls.push_back(end(rounds_.begin(), ParkedEnd::failed));
  return calls;
}

void InputRounds::note_end(const call::Call& call, Outcome outcome) {
  kept_ -= call.request.size();
  const Asked* const asked = asked_.find(call.slots);
  if (asked == nullptr || asked->round == 0) return;
  const bool is_given_up = outcome == Outcome::cancelled();
  forget(rounds_.find(asked->round), is_given_up ? ParkedEnd::given_up : ParkedEnd::failed);
}

void InputRounds::drain() {
  while (!rounds_.empty()) {
    chain_.on_fault(end(rounds_.begin(), ParkedEnd::stopped), rpc::faults::shutting_down());
  }
}

void InputRounds::expire(call::CallPtr call) {
  const auto round = rounds_.find(std::exchange(asked_.of(call->slots).round, 0));
  const rpc::FaultReport report =
      now() >= call::latest_end(*call, services_.config)
          ? call::gave_up(*call, call::CallPlace::held, now(), services_.config)
          : call::gave_up_question(services_.config, input_timeout_);
  forget(round, ParkedEnd::expired);
  chain_.on_fault(std::move(call), report);
}

}  // namespace stdgate::mcp
