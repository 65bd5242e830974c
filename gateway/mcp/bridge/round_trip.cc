#include "gateway/mcp/bridge/round_trip.h"

#include <algorithm>

#include "gateway/rpc/json_member.h"

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

bool Trip::has_answer(std::string_view answers) const {
  const auto is_answered = [answers](const InputRequest& request) {
    return rpc::find_member(answers, request.key).has_value();
  };
  return std::ranges::any_of(demands, is_answered) ||
         std::ranges::any_of(questions, is_answered, &Question::request);
}

}  // namespace stdgate::mcp
