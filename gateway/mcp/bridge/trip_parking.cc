#include "gateway/mcp/bridge/trip_parking.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {

namespace {

constexpr std::string_view kPurpose = "stdgate request state";

using Numbers = std::array<uint64_t, 4>;  // instance, trip, round, end

}  // namespace

size_t ParkedPlaces::share() const { return std::max<size_t>(1, all() / 2); }

size_t ParkedPlaces::taken_by(const std::string& identity) const {
  const auto found = holders_.find(identity);
  return found == holders_.end() ? 0 : found->second;
}

bool ParkedPlaces::has_one_for(const std::string& identity) const {
  if (taken_ >= all()) return false;
  return (identity.empty() && !has_principals_) || taken_by(identity) < share();
}

void ParkedPlaces::take(const std::string& identity) {
  ++taken_;
  ++holders_[identity];
}

void ParkedPlaces::give_back(const std::string& identity) {
  const auto found = holders_.find(identity);
  STDGATE_CHECK(found != holders_.end());
  --taken_;
  if (--found->second == 0) holders_.erase(found);
}

std::string ParkedPlaces::why_none(const std::string& identity) const {
  const auto of = [](size_t some, size_t most) {
    return std::to_string(some) + " of " + std::to_string(most);
  };
  const std::string why =
      taken_ >= all() ? of(taken_, all()) + " places of parked calls are taken"
                      : (identity.empty() ? "anonymous clients have " : "this client has ") +
                            of(taken_by(identity), share()) + " places of parked calls";
  return why + "; raise backends." + services_.config.name + ".pool.parked";
}

void ParkedPlaces::note_waiting(const std::string& identity) {
  if (!warnings_.allow(services_.core.clock.now())) return;
  services_.core.log.write(LogLevel::warn, "calls wait for places of parked calls",
                           {{"backend", services_.config.name},
                            {"why", why_none(identity)},
                            {"suppressed", warnings_.take_suppressed()}});
}

std::string TripStates::issue(const TripRound& round, std::string_view identity,
                              std::string_view essence) {
  if (!instance_) instance_ = services_.core.random();
  const auto end = static_cast<uint64_t>(round.expires.time_since_epoch().count());
  const Numbers numbers{*instance_, round.trip, round.round, end};
  const std::string_view plain(reinterpret_cast<const char*>(numbers.data()), sizeof(numbers));
  return services_.core.states->seal(plain, context_of(identity, essence));
}

std::optional<TripRound> TripStates::open(std::string_view state, std::string_view identity,
                                          std::string_view essence) const {
  const auto plain = services_.core.states->open(state, context_of(identity, essence));
  Numbers numbers{};
  if (!plain || plain->size() != sizeof(numbers)) return std::nullopt;
  std::memcpy(numbers.data(), plain->data(), sizeof(numbers));
  if (numbers[0] != instance_) return std::nullopt;
  return TripRound{numbers[1], numbers[2],
                   TimePoint(Duration(static_cast<Duration::rep>(numbers[3])))};
}

std::string TripStates::context_of(std::string_view identity, std::string_view essence) const {
  std::string context(kPurpose);
  for (const std::string_view part : {std::string_view(services_.config.name), identity, essence}) {
    context.append(1, '\0').append(std::to_string(part.size())).append(1, ':').append(part);
  }
  return context;
}

std::optional<rpc::FaultReport> LostTrips::take(const TripRound& round, TimePoint now) {
  const auto found = std::ranges::find_if(lost_, [&round](const Lost& lost) {
    return lost.round.trip == round.trip && lost.round.round == round.round;
  });
  if (found == lost_.end() || found->round.expires <= now) return std::nullopt;
  rpc::FaultReport report = std::move(found->report);
  lost_.erase(found);
  return report;
}

TimePoint TripParking::begin(Trip& trip, const call::Call& call) {
  trip.call = nullptr;
  trip.is_parked = true;
  trip.is_place_wanted = false;
  ++trip.round;
  places_.take(trip.identity);
  trip.held.move_to(call.held.payer());
  trip.charge();
  // A client that comes back without an answer gains no time.
  if (!std::exchange(trip.is_unanswered, false)) trip.expires = now() + input_timeout_;
  services_.core.observer.on_call_parked(services_.backend);
  return trip.expires;
}

void TripParking::tell(const Trip& trip, const call::Call& call,
                       std::span<const InputRequest> requests) {
  const std::string state =
      states_.issue({trip.number, trip.round, trip.expires}, trip.identity, trip.essence);
  chain_.answer(call, Outcome::ok(), kInput.input_required(requests, state), {});
}

void TripParking::leave_in_place(Trip& trip, call::Call& call) {
  services_.calls.index().remove(call);
  services_.calls.deadlines().remove(call);
  call.deadline = TimePoint::max();
  call.caller = session::Callers::kGateway;
  call.progress_token.clear();
  call.wants_events = false;
  stand_ins_.of(call.slots);
  call.held.set(std::max(call.held.bytes(), sizeof(call::Call)));
  trip.stand_in = &call;
}

call::CallPtr TripParking::ending_of(call::Call& call) const {
  call::CallPtr ending = services_.calls.take();
  static_cast<call::CallFacts&>(*ending) = static_cast<const call::CallFacts&>(call);
  ending->place = call::CallPlace::nowhere;
  ending->id = call.id;
  ending->principal = call.principal;
  ending->held.move_to(call.held.payer());
  call.slots.move_to(ending->slots);
  call.method_name = call.tool_name = {};
  return ending;
}

void TripParking::end(Trip& trip, ParkedEnd how) {
  trip.is_parked = false;
  trip.charge();
  places_.give_back(trip.identity);
  services_.core.observer.on_parked_call_ended(services_.backend, how);
}

void TripParking::refuse_state(call::CallPtr call) const {
  chain_.answer_error(*call, {rpc::RpcError::invalid_params, "requestState is not valid"});
}

void TripParking::answer_ask(const Trip& trip, rpc::WireId ask, std::string_view member) const {
  const rpc::KnownMessage answer(rpc::response_text(std::to_string(ask), member));
  sessions_.pass_answer(trip.session, answer.envelope());
}

void TripParking::refuse_asks(Trip& trip) const {
  const std::string member = rpc::error_member(rpc::rpc_error_code(rpc::RpcError::method_not_found),
                                               "no client here takes requests");
  trip.is_spoilt = true;
  for (const Question& question : std::exchange(trip.questions, {})) {
    answer_ask(trip, question.ask, member);
  }
  pool_.lane().dispatch(trip.session);
}

}  // namespace stdgate::mcp
