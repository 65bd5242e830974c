#include "gateway/mcp/bridge/trip_parking.h"

#include <algorithm>
#include <utility>

#include "gateway/rpc/known_message.h"

namespace stdgate::mcp {

std::string error_member(const call::Absence& error) {
  std::string member = R"("error":)";
  rpc::append_error(member, rpc::rpc_error_code(error.error), error.message, error.data);
  return member;
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
  call.parked = true;
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

void TripParking::end_with(call::CallPtr call, const call::Absence& error) const {
  chain_.answer(*call, Outcome::error(), error_member(error), rpc::rpc_error_code(error.error));
}

void TripParking::refuse_state(call::CallPtr call) const {
  end_with(std::move(call), {rpc::RpcError::invalid_params, "requestState is not valid", {}});
}

void TripParking::answer_ask(const Trip& trip, rpc::WireId ask, std::string_view member) const {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(ask) + ",";
  text.append(member).append("}");
  const rpc::KnownMessage answer(text);
  sessions_.pass_answer(trip.session, answer.envelope());
}

void TripParking::refuse_asks(Trip& trip) const {
  const std::string member =
      error_member({rpc::RpcError::method_not_found, "no client here takes requests", {}});
  trip.is_spoilt = true;
  for (const Question& question : std::exchange(trip.questions, {})) {
    answer_ask(trip, question.ask, member);
  }
  pool_.lane().dispatch(trip.session);
}

}  // namespace stdgate::mcp
