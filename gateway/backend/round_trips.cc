#include "gateway/backend/round_trips.h"

#include <algorithm>
#include <utility>

#include "gateway/backend/call_tracing.h"
#include "gateway/base/check.h"
#include "gateway/pool/child_output.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"
#include "gateway/rpc/known_message.h"

namespace stdgate::backend {

namespace {

// A child that has asked before its first call gets so long to take the answers in: servers do not
// say when they have.
constexpr Duration kQuiet = std::chrono::milliseconds(50);
// Questions that come so soon after a first one are of the same round: a server writes them one
// after the other.
constexpr Duration kGather = std::chrono::milliseconds(20);

const pool::Absence& invalid_state() {
  static const pool::Absence kError{rpc::RpcError::invalid_params, "requestState is not valid"};
  return kError;
}

std::string error_member(rpc::RpcError error, std::string_view message,
                         std::string_view data = {}) {
  std::string member = R"("error":)";
  rpc::append_error(member, rpc::rpc_error_code(error), message, data);
  return member;
}

}  // namespace

RoundTrips::RoundTrips(const pool::PoolServices& services, pool::Pool& pool,
                       SessionRouter& sessions, pool::PoolEvents& events, TripEnds& ends,
                       const Terms& terms)
    : services_(services),
      pool_(pool),
      sessions_(sessions),
      events_(events),
      ends_(ends),
      terms_(terms),
      is_strict_(services.config.isolation == config::Isolation::session),
      places_(services, terms.has_principals),
      states_(services),
      lost_(services.config.pool.parked),
      turn_timer_(services.core.timers, [this] { settle(); }),
      clock_timer_(services.core.timers, [this] { look_at_time(); }) {}

// --- Calls in -------------------------------------------------------------------------------

void RoundTrips::take(pool::CallPtr call, const pool::Outgoing& message) {
  if (pool_.is_draining()) return events_.on_fault(std::move(call), rpc::faults::shutting_down());
  call->held.move_to(services_.payer_for(message.account));
  std::string text(message.text);
  const rpc::KnownMessage request(text);
  if (call->resumes) {
    resume(std::move(call), request.envelope());
  } else {
    begin(std::move(call), request.envelope());
  }
}

void RoundTrips::begin(pool::CallPtr call, const rpc::Envelope& request) {
  std::string greeting = input().greeting_for(request);
  Trip* trip = idle_trip(*call, greeting);
  if (trip == nullptr) {
    const auto opened = open(std::move(greeting), *call);
    if (!opened) return events_.on_fault(std::move(call), opened.error());
    trip = *opened;
  }
  std::string scratch;
  trip->take(*call);
  trip->may_need_input = input().may_need_input(rpc::decode_string(request.method, scratch));
  trip->essence = trip->may_need_input ? input().essence(request) : std::string();
  trip->given = call->resumes ? input().read_answers(request).answers : std::string_view();
  trip->lacking.clear();
  submit(*trip, std::move(call), request);
}

// The client's own, then the one used last: its server may remember. Null: there is none.
Trip* RoundTrips::idle_trip(const pool::Call& call, std::string_view greeting) {
  Trip* best = nullptr;
  std::pair<bool, uint64_t> best_rank;
  for (const auto& [number, trip] : trips_) {
    const std::pair rank(trip->is_of_client(call), trip->last_end);
    if (!trip->may_serve(call, greeting, is_strict_) || (best && rank < best_rank)) continue;
    best = trip.get();
    best_rank = rank;
  }
  return best;
}

tl::expected<Trip*, rpc::FaultReport> RoundTrips::open(std::string greeting,
                                                       const pool::Call& call) {
  if (greeting.size() > pool::SessionMemory::kMaxGreeting) {
    return tl::unexpected(rpc::faults::too_large("the client's capabilities are too long"));
  }
  const uint64_t number = ++opened_;
  auto trip = std::make_unique<Trip>(*this, number, std::move(greeting), call.severity);
  const pool::Knowledge told{trip->greeting, input().may_ask_first(trip->greeting), call.severity};
  const auto session = sessions_.open_trip(*trip, told, call.origin);
  if (!session) return tl::unexpected(session.error());
  trip->session = *session;
  return trips_.emplace(number, std::move(trip)).first->second.get();
}

// The request without what belongs to a former one, as a child has to get it.
void RoundTrips::submit(Trip& trip, pool::CallPtr call, const rpc::Envelope& request) {
  trip.call = call.get();
  call->session = trip.session;
  std::string text = call->resumes ? input().without_answers(request) : std::string(request.text);
  const rpc::KnownMessage known(text);
  const rpc::Envelope& sent = known.envelope();
  pool::Outgoing message;
  message.text = sent.text;
  message.id = place_of(sent.id, sent.text);
  message.account = call->held.account();
  if (!call->progress_token.empty()) {
    const auto intent = services_.dialect.read_modern_client(sent, {}, nullptr);
    if (intent) message.progress_token = place_of(intent->progress_token, sent.text);
  }
  const pool::EraChanges changes = services_.dialect.omissions(sent);
  message.inserted = changes.view();
  CallTracing tracing(services_);
  if (tracing.is_on()) tracing.tell_child(sent, *call, message);
  if (!pool_.has_room_alone(message.bytes())) {
    trip.is_spoilt = true;
    return events_.on_fault(std::move(call),
                            rpc::faults::overloaded("the queue of this backend is full"));
  }
  if (const auto taken = pool_.submit(call, message); !taken) {
    trip.is_spoilt = true;
    events_.on_fault(std::move(call), taken.error());
  }
}

// --- The retry ------------------------------------------------------------------------------

void RoundTrips::resume(pool::CallPtr call, const rpc::Envelope& request) {
  const pool::InputAnswers read = input().read_answers(request);
  if (read.is_malformed) {
    return end_with(std::move(call), {rpc::RpcError::invalid_params,
                                      "requestState is no string, or inputResponses no object"});
  }
  if (!read.has_state) return begin(std::move(call), request);
  const auto round = states_.open(read.state, call->identity, input().essence(request));
  Trip* const trip = round ? find_parked(*round) : nullptr;
  if (trip == nullptr) {
    auto lost = round ? lost_.take(*round, now()) : std::nullopt;
    if (!lost) return end_with(std::move(call), invalid_state());
    call->child_era = Era::legacy;
    return events_.on_fault(std::move(call), *lost);
  }
  call->session = trip->session;
  if (trip->answer) return deliver_answer(*trip, std::move(call));
  trip->is_unanswered = !trip->has_answer(read.answers);
  std::vector<pool::InputRequest> missing;
  for (const pool::InputRequest& demand : trip->demands) {
    const auto answer = rpc::find_member(read.answers, demand.key);
    if (!answer) {
      missing.push_back(demand);
    } else if (!input().is_consent(*answer)) {
      trip->demands.clear();
      end_parking(*trip, ParkedEnd::resumed);
      trip->call = call.get();
      return end_with(std::move(call),
                      {rpc::RpcError::invalid_params, "the client has declined what this needs"});
    }
  }
  trip->demands = std::move(missing);
  end_parking(*trip, ParkedEnd::resumed);
  if (!trip->demands.empty()) {
    trip->call = call.get();
    return park_for(*trip, *call, trip->demands);
  }
  if (trip->stand_in != nullptr) {
    trip->call = call.get();
    pool::Call& stand_in = *std::exchange(trip->stand_in, nullptr);
    pool_.replace(stand_in, std::move(call));
    give_answers(*trip, read.answers);
    return;
  }
  // Its child has asked before it got the call.
  if (give_answers(*trip, read.answers)) {
    sessions_.hold_calls(trip->session, true);
    trip->quiet_until = now() + kQuiet;
    arm_clock(*trip->quiet_until);
  }
  submit(*trip, std::move(call), request);
}

Trip* RoundTrips::find_parked(const TripRound& round) {
  const auto found = trips_.find(round.trip);
  if (found == trips_.end()) return nullptr;
  Trip& trip = *found->second;
  return trip.is_parked && trip.round == round.round && now() < round.expires ? &trip : nullptr;
}

// Those that are missing are asked for again. Whether the child has been given any.
bool RoundTrips::give_answers(Trip& trip, std::string_view answers) {
  const auto given = trip.take_answers(answers);
  for (const auto& [ask, member] : given) answer_ask(trip, ask, member);
  if (!trip.questions.empty()) turn_timer_.arm(now());
  return !given.empty();
}

// The child has answered the call while it was parked.
void RoundTrips::deliver_answer(Trip& trip, pool::CallPtr call) {
  end_parking(trip, ParkedEnd::resumed);
  trip.call = call.get();
  call->child_era = Era::legacy;
  std::string text = *std::exchange(trip.answer, std::nullopt);
  const rpc::KnownMessage answer(text);
  events_.on_answer(std::move(call), answer.envelope());
}

// --- What its child says --------------------------------------------------------------------

void RoundTrips::on_trip_message(Trip& trip, std::string_view text) {
  std::string copy(text);
  rpc::EnvelopeParser parser(pool::ChildOutput::envelope_limits(services_.limits));
  const auto document = parser.parse(copy);
  if (!document || !document->messages[0].ok()) return;
  const rpc::Envelope& message = document->messages[0].envelope;
  std::string scratch;
  const std::string_view method = rpc::decode_string(message.method, scratch);
  if (message.kind == rpc::MessageKind::notification) {
    const auto ask = rpc::parse_wire_id(services_.dialect.cancelled_by_child(message, method));
    if (ask) std::erase_if(trip.questions, [&](const Question& q) { return q.ask == *ask; });
    return;
  }
  const auto ask = rpc::parse_wire_id(message.id);
  if (message.kind != rpc::MessageKind::request || !ask) return;
  pool::InputRuling ruling = input().judge(message, method, trip.greeting);
  if (ruling.verdict != pool::InputRuling::Verdict::allowed ||
      trip.question_bytes() + ruling.value.size() > services_.limits.message) {
    if (ruling.verdict == pool::InputRuling::Verdict::lacks_capability) {
      trip.lacking = std::move(ruling.capability);
    }
    trip.is_spoilt = true;  // its child may have learnt that nobody answers
    trip.replies.push_back(
        {*ask, error_member(rpc::RpcError::method_not_found, "the client cannot be asked this")});
  } else {
    trip.is_private = trip.is_private || input().is_private(method);
    if (trip.questions.empty()) trip.asking_until = now() + kGather;
    trip.is_unanswered = false;
    const session::Ask& asked = sessions_.find(trip.session)->asks->at(*ask);
    trip.add_question(*ask, asked.id, own_key(), std::move(ruling.value));
    trip.charge();
  }
  turn_timer_.arm(now());
}

bool RoundTrips::take_answer(pool::CallPtr& call, const rpc::Envelope& answer) {
  Trip* const trip = trip_of(*call);
  if (trip == nullptr) return false;
  if (call->parked) {
    trip->stand_in = nullptr;
    trip->answer = answer.text;
    trip->is_spoilt = true;  // it has not been told what it has asked
    trip->questions.clear();
    trip->charge();
    return true;
  }
  if (answer.kind != rpc::MessageKind::error) return false;
  const auto demanded = input().demanded(answer, trip->greeting);
  for (const pool::InputRuling& demand : demanded) {
    if (demand.verdict != pool::InputRuling::Verdict::allowed) trip->lacking = demand.capability;
  }
  if (!trip->lacking.empty()) {
    end_with(std::move(call), input().missing_capability(std::exchange(trip->lacking, {})));
    return true;
  }
  if (demanded.empty() || !trip->may_need_input) return false;
  if (pool_.is_draining() || !places_.has_one_for(trip->identity)) {
    // The child has done nothing, and waits for nothing: the client may try again.
    events_.on_fault(std::move(call), why_not_asked(*trip));
    return true;
  }
  for (const pool::InputRuling& demand : demanded) {
    trip->demands.push_back({"input-" + std::to_string(++keys_), demand.value});
  }
  park_for(*trip, *call, trip->demands);
  return true;
}

bool RoundTrips::take_fault(pool::CallPtr& call, const rpc::FaultReport& report) {
  Trip* const trip = trip_of(*call);
  if (trip == nullptr) return call->parked;
  if (!call->parked) {
    if (report.fault != rpc::Fault::timeout || !trip->awaits_place()) return false;
    trip->is_place_wanted = false;
    events_.on_fault(std::move(call), {report.fault, places_.why_none(trip->identity), {}, {}});
    return true;
  }
  trip->stand_in = nullptr;
  trip->questions.clear();
  trip->is_spoilt = true;
  lost_.add({trip->number, trip->round, trip->expires}, report);
  end_parking(*trip, ParkedEnd::failed);
  return true;
}

void RoundTrips::note_end(const pool::Call& call, Outcome outcome) {
  Trip* const trip = trip_of(call);
  if (trip == nullptr || trip->call != &call) return;
  trip->call = nullptr;
  trip->has_ended = true;
  trip->last_end = ++ends_so_far_;
  const bool is_well =
      outcome == Outcome::ok() || outcome == Outcome::error() || outcome == Outcome::tool_error();
  if (!is_well) trip->is_spoilt = true;
  turn_timer_.arm(now());
}

// --- Once a turn ----------------------------------------------------------------------------

void RoundTrips::settle() {
  for (auto next = trips_.begin(); next != trips_.end();) {
    Trip& trip = *(next++)->second;
    settle(trip);
  }
}

void RoundTrips::settle(Trip& trip) {
  for (const auto& [ask, member] : std::exchange(trip.replies, {})) answer_ask(trip, ask, member);
  if (!trip.questions.empty() && !trip.is_parked) {
    const bool can_ask = trip.call != nullptr && trip.may_need_input && !pool_.is_draining();
    if (!can_ask) {
      refuse_asks(trip);
    } else if (now() < trip.asking_until) {
      arm_clock(trip.asking_until);
    } else if (places_.has_one_for(trip.identity)) {
      park(trip);
    } else if (!std::exchange(trip.is_place_wanted, true)) {
      places_.note_waiting(trip.identity);
    }
  }
  if (!std::exchange(trip.has_ended, false)) {
    if (trip.is_idle() && trip.is_spoilt) release(trip);
    return;
  }
  const bool is_for_one = is_strict_ || trip.is_private;
  if (trip.is_spoilt || (is_for_one && !trip.has_client()) || pool_.is_draining()) {
    return release(trip);
  }
  trip.idle_since = now();
  arm_clock(now() + services_.config.pool.idle_timeout);
}

void RoundTrips::refuse_asks(Trip& trip) {
  const std::string member =
      error_member(rpc::RpcError::method_not_found, "no client here takes requests");
  trip.is_spoilt = true;
  for (const Question& question : std::exchange(trip.questions, {})) {
    answer_ask(trip, question.ask, member);
  }
  pool_.dispatch_lease(trip.session);
}

// Without effect if the ask is over.
void RoundTrips::answer_ask(Trip& trip, rpc::WireId ask, std::string_view member) {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(ask) + ",";
  text.append(member).append("}");
  const rpc::KnownMessage answer(text);
  sessions_.pass_answer(trip.session, answer.envelope());
}

// --- Parking --------------------------------------------------------------------------------

void RoundTrips::park(Trip& trip) {
  std::vector<pool::InputRequest> requests;
  requests.reserve(trip.questions.size());
  for (const Question& question : trip.questions) requests.push_back(question.request);
  pool::Call& call = *trip.call;
  if (call.place == pool::CallPlace::in_flight) {
    // What tells the client is a copy, so that all is in order when the client hears of it.
    const pool::CallPtr told = services_.calls.take();
    static_cast<pool::CallFacts&>(*told) = static_cast<const pool::CallFacts&>(call);
    told->place = pool::CallPlace::nowhere;
    for (const auto text : {&pool::Call::id, &pool::Call::method_name, &pool::Call::tool_name,
                            &pool::Call::principal, &pool::Call::audit_notes}) {
      (*told).*text = call.*text;
    }
    told->trace = call.trace;
    told->held.move_to(call.held.payer());
    leave_in_place(trip, call);
    park_for(trip, *told, requests);
  } else {
    const pool::CallPtr waiting = pool_.take(call, pool::CancelReason::client_left);
    park_for(trip, *waiting, requests);
  }
}

// From now on the call is nobody's, until its client goes on with it.
void RoundTrips::leave_in_place(Trip& trip, pool::Call& call) {
  services_.calls.index().remove(call);
  services_.calls.deadlines().remove(call);
  call.deadline = TimePoint::max();
  call.caller = session::Callers::kGateway;
  call.client = nullptr;
  call.list = nullptr;
  call.progress_token.clear();
  call.wants_events = false;
  call.parked = true;
  call.held.set(std::max(call.held.bytes(), sizeof(pool::Call)));
  trip.stand_in = &call;
}

void RoundTrips::park_for(Trip& trip, const pool::Call& call,
                          std::span<const pool::InputRequest> requests) {
  trip.call = nullptr;
  trip.is_parked = true;
  trip.is_place_wanted = false;
  ++trip.round;
  places_.take(trip.identity);
  trip.held.move_to(call.held.payer());
  trip.charge();
  // Who answers nothing gains no time.
  if (!std::exchange(trip.is_unanswered, false)) trip.expires = now() + terms_.input_timeout;
  arm_clock(trip.expires);
  services_.core.observer.on_call_parked(services_.backend);
  const std::string state =
      states_.issue({trip.number, trip.round, trip.expires}, trip.identity, trip.essence);
  ends_.end_call(call, Outcome::ok(), input().input_required(requests, state), {});
}

void RoundTrips::end_parking(Trip& trip, ParkedEnd end) {
  trip.is_parked = false;
  trip.charge();
  places_.give_back(trip.identity);
  services_.core.observer.on_parked_call_ended(services_.backend, end);
  turn_timer_.arm(now());  // another one may be parked
}

void RoundTrips::release(Trip& trip) {
  if (trip.is_parked) {
    end_parking(trip, pool_.is_draining() ? ParkedEnd::stopped : ParkedEnd::expired);
  }
  if (trip.stand_in != nullptr) pool_.take(*trip.stand_in, pool::CancelReason::deadline);
  EndedSession ended = sessions_.end(trip.session);
  for (pool::CallPtr& call : ended.calls) {
    if (call->parked) continue;
    events_.on_fault(std::move(call), rpc::faults::child_failed("its child has gone"));
  }
  trips_.erase(trip.number);
}

void RoundTrips::drain() {
  for (auto next = trips_.begin(); next != trips_.end();) {
    Trip& trip = *(next++)->second;
    if (trip.call == nullptr) release(trip);
  }
}

void RoundTrips::look_at_time() {
  const TimePoint time = now();
  std::optional<TimePoint> first;
  const auto wait_for = [&first](TimePoint due) { first = std::min(first.value_or(due), due); };
  for (auto next = trips_.begin(); next != trips_.end();) {
    Trip& trip = *(next++)->second;
    if (trip.quiet_until && *trip.quiet_until <= time) {
      trip.quiet_until.reset();
      sessions_.hold_calls(trip.session, false);
      pool_.dispatch_lease(trip.session);
    }
    if (trip.quiet_until) wait_for(*trip.quiet_until);
    if (!trip.questions.empty() && !trip.is_parked) {
      if (time < trip.asking_until) {
        wait_for(trip.asking_until);
      } else {
        turn_timer_.arm(time);
      }
    }
    if (trip.call != nullptr || trip.has_ended) continue;
    const TimePoint due =
        trip.is_parked ? trip.expires : trip.idle_since + services_.config.pool.idle_timeout;
    if (due <= time) {
      release(trip);
    } else {
      wait_for(due);
    }
  }
  if (first) clock_timer_.arm(*first);
}

void RoundTrips::end_with(pool::CallPtr call, const pool::Absence& error) {
  ends_.end_call(*call, Outcome::error(), error_member(error.error, error.message, error.data),
                 rpc::rpc_error_code(error.error));
}

}  // namespace stdgate::backend
