#include "gateway/backend/round_trip.h"

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

}  // namespace stdgate::backend
