#include "gateway/mcp/bridge/round_trip.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gateway/mcp/bridge/round_trips.h"
#include "gateway/mcp/bridge/trip_parking.h"
#include "gateway/pool/child_output.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::mcp {
namespace {

constexpr size_t kMaxName = 64;

std::string result_member(std::string_view result) { return R"("result":)" + std::string(result); }

// The name that the id of a child's request gives the question; empty: none.
std::string_view name_in(std::string_view id) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (id.size() < 3 || id.size() > kMaxName + 2 || id.front() != '"') return {};
  const std::string_view name = id.substr(1, id.size() - 2);
  const bool is_plain = name.find_first_not_of(kPlain) == std::string_view::npos;
  return is_plain && !name.starts_with(Trip::kOwnKey) ? name : std::string_view();
}

// Questions within this time after a first one belong to the same round: a server writes its
// questions one after the other.
constexpr Duration kGather = std::chrono::milliseconds(20);

}  // namespace

void Trip::add_question(rpc::WireId ask, std::string_view id, const std::string& other,
                        std::string request) {
  const std::string_view name = name_in(id);
  const auto has_that_name = [name](const Question& open) { return open.request.key == name; };
  const bool is_named = !name.empty() && std::ranges::none_of(questions, has_that_name);
  const auto given_answer = rpc::find_member(given, name);
  if (is_named && given_answer && given_answer->front() == '{') {
    replies.push_back({ask, result_member(*given_answer)});
    return;
  }
  questions.push_back({ask, {is_named ? std::string(name) : other, std::move(request)}});
}

std::vector<AskEnd> Trip::take_answers(std::string_view answers) {
  std::vector<Question> missing;
  std::vector<AskEnd> taken;
  for (Question& question : questions) {
    const auto result = rpc::find_member(answers, question.request.key);
    if (result && result->front() == '{') {
      taken.push_back({question.ask, result_member(*result)});
    } else {
      missing.push_back(std::move(question));
    }
  }
  questions = std::move(missing);
  return taken;
}

std::vector<InputRequest> Trip::open_requests() const {
  std::vector<InputRequest> requests;
  requests.reserve(questions.size());
  for (const Question& question : questions) requests.push_back(question.request);
  return requests;
}

size_t Trip::question_bytes() const {
  size_t bytes = 0;
  for (const Question& question : questions) bytes += question.request.value.size();
  return bytes;
}

size_t Trip::first_bytes() const {
  size_t bytes = 0;
  for (const FirstAsk& first : first_asks) bytes += first.text.size();
  return bytes;
}

void Trip::charge_first(const Payer& payer) {
  held_first.move_to(payer);
  held_first.set(first_bytes());
}

void Trip::charge() {
  if (!is_parked) {
    held = {};
    return;
  }
  size_t bytes = greeting.size() + essence.size() + given.size() + question_bytes();
  for (const InputRequest& demand : demands) bytes += demand.value.size();
  held.set(bytes + (answer ? answer->size() : 0));
}

void Trip::on_message(std::optional<session::Tag> of_call,
                      std::span<const std::string_view> parts) {
  if (of_call) return;
  std::string text;
  for (const std::string_view part : parts) text += part;
  trips_.on_trip_message(*this, text);
}

void Trip::on_session_end(session::SessionEnd /*end*/, std::string_view /*message*/) {
  is_spoilt = true;
  trips_.on_trip_over();
}

bool Trip::has_answer(std::string_view answers) const {
  const auto is_answered = [answers](const InputRequest& request) {
    return rpc::find_member(answers, request.key).has_value();
  };
  return std::ranges::any_of(demands, is_answered) ||
         std::ranges::any_of(questions, is_answered, &Question::request);
}

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
        {*ask, rpc::error_member(rpc::rpc_error_code(rpc::RpcError::method_not_found),
                                 "the client cannot be asked this")});
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
    const rpc::KnownMessage known{std::string(first.text)};
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
