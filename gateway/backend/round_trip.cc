#include "gateway/backend/round_trip.h"

#include <algorithm>

#include "gateway/rpc/json_member.h"

namespace stdgate::backend {

std::vector<std::pair<rpc::WireId, std::string>> Trip::take_answers(std::string_view answers) {
  std::vector<Question> missing;
  std::vector<std::pair<rpc::WireId, std::string>> given;
  question_bytes = 0;
  for (Question& question : questions) {
    const auto result = rpc::find_member(answers, question.request.key);
    if (result && result->front() == '{') {
      given.emplace_back(question.ask, R"("result":)" + std::string(*result));
    } else {
      question_bytes += question.request.value.size();
      missing.push_back(std::move(question));
    }
  }
  questions = std::move(missing);
  return given;
}

bool Trip::has_answer(std::string_view answers) const {
  const auto is_answered = [answers](const pool::InputRequest& request) {
    return rpc::find_member(answers, request.key).has_value();
  };
  return std::ranges::any_of(demands, is_answered) ||
         std::ranges::any_of(questions, is_answered, &Question::request);
}

}  // namespace stdgate::backend
