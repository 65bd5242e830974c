#include "gateway/mcp/bridge/round_trips.h"

#include <algorithm>
#include <utility>

#include "gateway/call/call.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

namespace {

// Time that a child has to process the answers to questions before its first call, because servers
// do not say when they are done.
constexpr Duration kQuiet = std::chrono::milliseconds(50);

constexpr const char* kAwaitsTurn =
    "another call of this principal has its turn: calls whose client can be asked something are "
    "served one after the other";

}  // namespace

RoundTrips::RoundTrips(const pool::PoolServices& services, const McpDialect& dialect,
                       pool::Pool& pool, backend::SessionRouter& sessions,
                       const TripParking::Terms& terms, call::TraceFilter& traces)
    : services_(services),
      dialect_(dialect),
      pool_(pool),
      sessions_(sessions),
      chain_(services.chain),
      traces_(traces),
      is_strict_(services.config.isolation == config::Isolation::session),
      takes_turns_(services.config.serves_one),
      parking_(services, pool, sessions, terms),
      questions_(services, sessions),
      settle_timer_(services.core.timers, [this] { settle(); }),
      clock_timer_(services.core.timers, [this] { look_at_time(); }) {}

// --- Calls in -------------------------------------------------------------------------------

void RoundTrips::take(call::CallPtr call, const call::Outgoing& message) {
  if (pool_.is_draining()) return chain_.on_fault(std::move(call), rpc::faults::shutting_down());
  call->held.move_to(services_.payer_for(message.account));
  const rpc::KnownMessage request{std::string(message.text)};
  if (kInput.resumes(request.envelope())) return resume(std::move(call), request.envelope());
  if (takes_turns_) return await_turn(std::move(call), request.envelope());
  begin(std::move(call), request.envelope());
}

void RoundTrips::begin(call::CallPtr call, const rpc::Envelope& request) {
  std::string greeting = kInput.greeting_for(request);
  Trip* trip = idle_trip(*call, greeting);
  if (trip == nullptr) {
    const auto opened = open(std::move(greeting), *call);
    if (!opened) return chain_.on_fault(std::move(call), opened.error());
    trip = *opened;
  }
  note_call(*trip, *call, request);
  submit(*trip, std::move(call), request);
}

// The trip belongs to this call from now on.
void RoundTrips::note_call(Trip& trip, const call::Call& call, const rpc::Envelope& request) {
  std::string scratch;
  trip.take(call);
  trip.may_need_input = kInput.may_need_input(request.decoded_method(scratch));
  trip.essence = trip.may_need_input ? kInput.essence(request) : std::string();
  trip.given = kInput.resumes(request) ? kInput.read_answers(request).answers : std::string_view();
  trip.lacking.clear();
}

// An idle trip for this call: one of the same principal first, then the one used last, whose server
// may remember. Null: none.
Trip* RoundTrips::idle_trip(const call::Call& call, std::string_view greeting) {
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
                                                       const call::Call& call) {
  if (greeting.size() > pool::SessionMemory::kMaxGreeting) {
    return tl::unexpected(rpc::faults::too_large("the client's capabilities are too long"));
  }
  const uint64_t number = ++opened_;
  auto trip = std::make_unique<Trip>(*this, number, std::move(greeting), call.severity);
  const pool::Knowledge told{trip->greeting, kInput.may_ask_first(trip->greeting), call.severity};
  const auto session = sessions_.open_trip(*trip, told, call.origin);
  if (!session) return tl::unexpected(session.error());
  trip->session = *session;
  return trips_.emplace(number, std::move(trip)).first->second.get();
}

call::Outgoing RoundTrips::outgoing(const call::Call& call, const rpc::Envelope& request) const {
  call::Outgoing message(request);
  message.account = call.held.account();
  if (!call.progress_token.empty()) {
    const auto intent = dialect_.read_client(request, {}, {.peer_kind = PeerKind::stateless});
    if (intent) message.progress_token = place_of(intent->progress_token, request.text);
  }
  return message;
}

// Sends the request without its answers and its state, which the child must not get.
void RoundTrips::submit(Trip& trip, call::CallPtr call, const rpc::Envelope& request) {
  trip.call = call.get();
  call->session = trip.session;
  std::string text =
      kInput.resumes(request) ? kInput.without_answers(request) : std::string(request.text);
  const rpc::KnownMessage known(text);
  const rpc::Envelope& sent = known.envelope();
  call::Outgoing message = outgoing(*call, sent);
  const call::PeerChanges changes = dialect_.omissions(sent);
  message.inserted = changes.view();
  call->route = {0, false, PeerKind::stateful};
  traces_.tell_child(sent, *call, message);
  if (!takes_turns_ && !pool_.lane().has_room_alone(message.bytes())) {
    trip.is_spoilt = true;
    return chain_.on_fault(std::move(call),
                           rpc::faults::overloaded("the queue of this backend is full"));
  }
  if (const auto taken = pool_.submit(call, message); !taken) {
    trip.is_spoilt = true;
    chain_.on_fault(std::move(call), taken.error());
  }
}

// --- The retry ------------------------------------------------------------------------------

void RoundTrips::resume(call::CallPtr call, const rpc::Envelope& request) {
  const InputAnswers read = kInput.read_answers(request);
  if (read.is_malformed) {
    return chain_.answer_error(*call, {rpc::RpcError::invalid_params,
                                       "requestState is no string, or inputResponses no object"});
  }
  if (!read.has_state) {
    return takes_turns_ ? await_turn(std::move(call), request) : begin(std::move(call), request);
  }
  const auto round = parking_.open(read.state, call->identity, kInput.essence(request));
  Trip* const trip = round ? find_parked(*round) : nullptr;
  if (trip == nullptr) {
    auto lost = round ? parking_.lost().take(*round, now()) : std::nullopt;
    if (!lost) return parking_.refuse_state(std::move(call));
    call->child_kind = PeerKind::stateful;
    return chain_.on_fault(std::move(call), *lost);
  }
  call->session = trip->session;
  if (trip->answer) return deliver_answer(*trip, std::move(call));
  trip->is_unanswered = !trip->has_answer(read.answers);
  std::vector<InputRequest> missing;
  for (const InputRequest& demand : trip->demands) {
    const auto answer = rpc::find_member(read.answers, demand.key);
    if (!answer) {
      missing.push_back(demand);
    } else if (!kInput.is_consent(*answer)) {
      trip->demands.clear();
      end_parking(*trip, ParkedEnd::resumed);
      trip->call = call.get();
      return chain_.answer_error(
          *call, {rpc::RpcError::invalid_params, "the client has declined what this needs"});
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
    call::Call& stand_in = *std::exchange(trip->stand_in, nullptr);
    pool_.replace(stand_in, std::move(call));
    give_answers(*trip, read.answers);
    return;
  }
  // The child has asked before it got the call.
  if (give_answers(*trip, read.answers)) {
    if (takes_turns_) return begin_again(*trip, std::move(call), request);
    sessions_.hold_calls(trip->session, true);
    trip->quiet_until = now() + kQuiet;
    clock_timer_.arm_by(*trip->quiet_until);
  }
  submit(*trip, std::move(call), request);
}

Trip* RoundTrips::find_parked(const TripRound& round) {
  const auto found = trips_.find(round.trip);
  if (found == trips_.end()) return nullptr;
  Trip& trip = *found->second;
  return parking_.is_of(trip, round) ? &trip : nullptr;
}

// Missing answers are asked for again. Returns whether the child has got any.
bool RoundTrips::give_answers(Trip& trip, std::string_view answers) {
  const auto given = trip.take_answers(answers);
  for (const auto& [ask, member] : given) parking_.answer_ask(trip, ask, member);
  if (!trip.questions.empty()) settle_timer_.arm(now());
  return !given.empty();
}

// The child has answered the call while the call was parked.
void RoundTrips::deliver_answer(Trip& trip, call::CallPtr call) {
  end_parking(trip, ParkedEnd::resumed);
  trip.call = call.get();
  call->child_kind = PeerKind::stateful;
  const rpc::KnownMessage answer(*std::exchange(trip.answer, std::nullopt));
  chain_.on_answer(std::move(call), answer.envelope());
}

// --- Messages of the child ------------------------------------------------------------------

void RoundTrips::on_trip_message(Trip& trip, std::string_view text) {
  if (questions_.take(trip, text)) settle_timer_.arm(now());
}

bool RoundTrips::take_answer(call::CallPtr& call, const rpc::Envelope& answer) {
  Trip* const trip = trip_of(*call);
  if (trip == nullptr) return false;
  if (parking_.is_left_in_place(*call)) {
    trip->stand_in = nullptr;
    trip->answer = answer.text;
    parking_.refuse_asks(*trip);  // its questions are not needed any more
    trip->charge();
    return true;
  }
  if (answer.kind != rpc::MessageKind::error) return false;
  const auto demanded = kInput.demanded(answer, trip->greeting);
  for (const InputRuling& demand : demanded) {
    if (demand.verdict != InputRuling::Verdict::allowed) trip->lacking = demand.capability;
  }
  if (!trip->lacking.empty()) {
    const call::CallPtr ended = std::move(call);
    chain_.answer_error(*ended, kInput.missing_capability(std::exchange(trip->lacking, {})));
    return true;
  }
  if (demanded.empty() || !trip->may_need_input) return false;
  if (pool_.is_draining() || !parking_.places().has_one_for(trip->identity)) {
    // The child has done nothing, and waits for nothing, so the client may try again.
    chain_.on_fault(std::move(call), why_not_asked(*trip));
    return true;
  }
  for (const InputRuling& demand : demanded) {
    questions_.add_demand(*trip, demand.value);
  }
  park_for(*trip, *call, trip->demands);
  return true;
}

bool RoundTrips::take_fault(call::CallPtr& call, const rpc::FaultReport& report) {
  Trip* const trip = trip_of(*call);
  const bool is_stand_in = parking_.is_left_in_place(*call);
  if (trip == nullptr) {
    if (is_stand_in || !pool_.is_turn_taken() || report.fault != rpc::Fault::timeout)
      return is_stand_in;
    call->alone = false;
    chain_.on_fault(std::move(call),
                    {report.fault, report.message + "; " + kAwaitsTurn, report.detail, {}});
    return true;
  }
  if (!is_stand_in) {
    if (report.fault != rpc::Fault::timeout || !trip->awaits_place()) return false;
    trip->is_place_wanted = false;
    std::string why = parking_.places().why_none(trip->identity);
    if (now() >= call::latest_end(*call, services_.config)) why += "; " + report.message;
    chain_.on_fault(std::move(call), {report.fault, std::move(why), {}, {}});
    return true;
  }
  trip->stand_in = nullptr;
  trip->questions.clear();
  trip->is_spoilt = true;
  parking_.lost().add({trip->number, trip->round, trip->expires}, report);
  end_parking(*trip, ParkedEnd::failed);
  return true;
}

void RoundTrips::note_end(const call::Call& call, Outcome outcome) {
  Trip* const trip = trip_of(call);
  if (trip == nullptr || trip->call != &call) return;
  trip->call = nullptr;
  trip->has_ended = true;
  trip->last_end = ++ends_so_far_;
  const bool is_well =
      outcome == Outcome::ok() || outcome == Outcome::error() || outcome == Outcome::tool_error();
  if (!is_well) trip->is_spoilt = true;
  settle_timer_.arm(now());
}

// --- Once a turn ----------------------------------------------------------------------------

void RoundTrips::settle() {
  for (auto next = trips_.begin(); next != trips_.end();) {
    Trip& trip = *(next++)->second;
    settle(trip);
  }
}

void RoundTrips::settle(Trip& trip) {
  for (const auto& [ask, member] : std::exchange(trip.replies, {})) {
    parking_.answer_ask(trip, ask, member);
  }
  if (!trip.questions.empty() && !trip.is_parked) {
    const bool can_ask = trip.call != nullptr && trip.may_need_input && !pool_.is_draining();
    if (!can_ask) {
      parking_.refuse_asks(trip);
    } else if (now() < trip.asking_until) {
      clock_timer_.arm_by(trip.asking_until);
    } else if (parking_.places().has_one_for(trip.identity)) {
      park(trip);
    } else if (!std::exchange(trip.is_place_wanted, true)) {
      parking_.places().note_waiting(trip.identity);
    }
  }
  if (takes_turns_) {
    if (pool_.is_turn_taken() && trip.is_idle() && !trip.quiet_until) end_turn(trip);
    return pool_.is_draining() && trip.is_idle() ? release(trip) : void();
  }
  if (!std::exchange(trip.has_ended, false)) {
    if (trip.is_idle() && trip.is_spoilt) release(trip);
    return;
  }
  const bool is_for_one = is_strict_ || trip.is_private;
  if (trip.is_spoilt || (is_for_one && trip.identity.empty()) || pool_.is_draining()) {
    return release(trip);
  }
  trip.idle_since = now();
  clock_timer_.arm_by(now() + services_.config.pool.idle_timeout);
}

// --- Parking --------------------------------------------------------------------------------

void RoundTrips::park(Trip& trip) {
  const std::vector<InputRequest> requests = trip.open_requests();
  call::Call& call = *trip.call;
  if (call.place == call::CallPlace::in_flight) {
    // A second call tells the client, so that everything is consistent when the client hears of it.
    const call::CallPtr told = parking_.ending_of(call);
    parking_.leave_in_place(trip, call);
    park_for(trip, *told, requests);
  } else {
    const call::CallPtr waiting = pool_.take(call, pool::CancelReason::client_left);
    park_for(trip, *waiting, requests);
  }
}

void RoundTrips::park_for(Trip& trip, const call::Call& call,
                          std::span<const InputRequest> requests) {
  clock_timer_.arm_by(parking_.begin(trip, call));
  parking_.tell(trip, call, requests);
}

void RoundTrips::end_parking(Trip& trip, ParkedEnd end) {
  parking_.end(trip, end);
  settle_timer_.arm(now());  // another trip may be parked now
}

void RoundTrips::release(Trip& trip) {
  if (trip.is_parked) {
    end_parking(trip, pool_.is_draining() ? ParkedEnd::stopped : ParkedEnd::expired);
  }
  if (trip.stand_in != nullptr) {
    pool_.take(*std::exchange(trip.stand_in, nullptr), pool::CancelReason::deadline);
  }
  // The one trip of a principal stays until no call comes any more.
  if (takes_turns_) {
    parking_.refuse_asks(trip);
    if (pool_.is_turn_taken()) end_turn(trip);
    if (!pool_.is_draining() || !trip.is_idle()) return;
  }
  backend::EndedSession ended = sessions_.end(trip.session);
  for (call::CallPtr& call : ended.calls) {
    if (parking_.is_left_in_place(*call)) continue;
    chain_.on_fault(std::move(call), rpc::faults::child_failed("its child has gone"));
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
      if (takes_turns_) settle_timer_.arm(time);
      sessions_.hold_calls(trip.session, false);
      pool_.lane().dispatch(trip.session);
    }
    if (trip.quiet_until) wait_for(*trip.quiet_until);
    if (!trip.questions.empty() && !trip.is_parked) {
      if (time < trip.asking_until) {
        wait_for(trip.asking_until);
      } else {
        settle_timer_.arm(time);
      }
    }
    if (trip.call != nullptr || trip.has_ended || (takes_turns_ && !trip.is_parked)) continue;
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

// --- Turns ----------------------------------------------------------------------------------

void RoundTrips::note_request(const rpc::Envelope& request) {
  if (!takes_turns_ || pool_.peer_kind() == PeerKind::stateless || pool_.has_shared_child()) return;
  if (!own_trip()) return;
  const std::string greeting = kInput.greeting_for(request);
  if (greeting.size() > pool::SessionMemory::kMaxGreeting) return;
  pool_.greet_for({greeting, kInput.may_ask_first(greeting)});
}

tl::expected<Trip*, rpc::FaultReport> RoundTrips::own_trip() {
  if (!trips_.empty()) return trips_.begin()->second.get();
  const uint64_t number = ++opened_;
  auto trip = std::make_unique<Trip>(*this, number, std::string(), std::nullopt);
  const auto session = sessions_.open_turns(*trip);
  if (!session) return tl::unexpected(session.error());
  trip->session = *session;
  return trips_.emplace(number, std::move(trip)).first->second.get();
}

// If no call has the turn, the call goes at once to a child that has room. A modern child gets the
// call unchanged.
void RoundTrips::await_turn(call::CallPtr call, const rpc::Envelope& request) {
  call->route = {};
  const call::Outgoing message = outgoing(*call, request);
  pool_.send(std::move(call), message);
}

void RoundTrips::take_turn(call::CallPtr call, const call::Outgoing& message) {
  call->held.move_to(services_.payer_for(message.account));
  const rpc::KnownMessage known{std::string(message.text)};
  const rpc::Envelope& request = known.envelope();
  if (kInput.resumes(request) && kInput.read_answers(request).has_state) {
    return resume(std::move(call), request);
  }
  const auto own = own_trip();
  if (!own) return chain_.on_fault(std::move(call), own.error());
  Trip* const trip = *own;
  pool_.hold_turns(true);
  trip->greeting = kInput.greeting_for(request);
  note_call(*trip, *call, request);
  if (!pool_.is_draining() && parking_.places().has_one_for(trip->identity)) {
    questions_.take_first(*trip);
  }
  if (trip->questions.empty()) return submit(*trip, std::move(call), request);
  const std::vector<InputRequest> requests = trip->open_requests();
  call->session = trip->session;
  park_for(*trip, *call, requests);
}

// The child is processing answers, so the call waits for another turn, which comes after that.
void RoundTrips::begin_again(Trip& trip, call::CallPtr call, const rpc::Envelope& request) {
  trip.quiet_until = now() + kQuiet;
  clock_timer_.arm_by(*trip.quiet_until);
  const rpc::KnownMessage known(kInput.without_answers(request));
  call->session = {};
  await_turn(std::move(call), known.envelope());
}

void RoundTrips::end_turn(Trip& trip) {
  trip.has_ended = trip.is_spoilt = false;
  trip.demands.clear();
  trip.answer.reset();
  pool_.hold_turns(false);
}

}  // namespace stdgate::mcp
