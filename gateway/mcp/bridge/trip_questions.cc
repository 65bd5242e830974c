#include "gateway/mcp/bridge/trip_questions.h"

#include <string>
#include <utility>

#include "gateway/mcp/bridge/trip_parking.h"
#include "gateway/pool/child_output.h"
#include "gateway/rpc/known_message.h"

namespace stdgate::mcp {

namespace {

// Questions within this time after a first one belong to the same round: a server writes its
// questions one after the other.
constexpr Duration kGather = std::chrono::milliseconds(20);

}  // namespace

bool TripQuestions::take(Trip& trip, std::string_view text) {
  std::string copy(text);
  rpc::EnvelopeParser parser(pool::ChildOutput::envelope_limits(services_.limits));
  const auto document = parser.parse(copy);
  if (!document || !document->messages[0].ok()) return false;
  const rpc::Envelope& message = document->messages[0].envelope;
  std::string scratch;
  const std::string_view method = message.decoded_method(scratch);
  if (message.kind == rpc::MessageKind::notification) {
    const auto ask = rpc::parse_wire_id(services_.dialect.cancelled_by_child(message, method));
    if (ask) trip.forget(*ask);
    return false;
  }
  const auto ask = rpc::parse_wire_id(message.id);
  if (message.kind != rpc::MessageKind::request || !ask) return false;
  const bool fits =
      trip.question_bytes() + trip.first_bytes() + text.size() <= services_.limits.message;
  const bool has_call = trip.call != nullptr || trip.is_parked;
  if (fits && !has_call && services_.config.serves_one) {
    trip.first_asks.push_back({*ask, std::string(text)});
    trip.charge_first(services_.payer);
  } else if (!fits || !add(trip, *ask, message, method)) {
    trip.is_spoilt = true;  // its child may have learnt that its questions are refused
    trip.replies.push_back(
        {*ask,
         error_member({rpc::RpcError::method_not_found, "the client cannot be asked this", {}})});
  }
  return true;
}

// False: the client of the trip's call cannot be asked this.
bool TripQuestions::add(Trip& trip, rpc::WireId ask, const rpc::Envelope& request,
                        std::string_view method) {
  InputRuling ruling = kInput.judge(request, method, trip.greeting);
  if (ruling.verdict != InputRuling::Verdict::allowed) {
    if (ruling.verdict == InputRuling::Verdict::lacks_capability) {
      trip.lacking = std::move(ruling.capability);
    }
    return false;
  }
  trip.is_private = trip.is_private || kInput.is_private(method);
  if (trip.questions.empty()) trip.asking_until = services_.core.clock.now() + kGather;
  trip.is_unanswered = false;
  const session::Ask& asked = sessions_.find(trip.session)->asks->at(ask);
  trip.add_question(ask, asked.id, next_key(), std::move(ruling.value));
  trip.charge();
  return true;
}

// Questions that this client cannot be asked wait for another client.
void TripQuestions::take_first(Trip& trip) {
  const session::Session& session = *sessions_.find(trip.session);
  for (FirstAsk& first : std::exchange(trip.first_asks, {})) {
    if (session.asks->find(first.ask) == nullptr) continue;  // its child has gone
    std::string text = first.text;
    const rpc::KnownMessage known(text);
    std::string scratch;
    const std::string_view method = known.envelope().decoded_method(scratch);
    if (!add(trip, first.ask, known.envelope(), method)) {
      trip.first_asks.push_back(std::move(first));
    }
  }
  trip.lacking.clear();
  trip.charge_first(services_.payer);
}

}  // namespace stdgate::mcp
