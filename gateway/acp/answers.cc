#include "gateway/acp/answers.h"

#include <algorithm>
#include <utility>

#include "gateway/rpc/fault.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::acp {

void Answers::add(uint64_t event, uint32_t stream, std::string_view answer) {
  std::string id(rpc::member_or_empty(answer, "id"));
  id_bytes_ += id.size();
  answers_.emplace(event, Answer{stream, std::move(id)});
  ++untold_;
  if (answers_.size() <= most_) return;
  const auto oldest =
      std::ranges::find_if(answers_, [](const auto& one) { return one.second.is_told; });
  if (oldest != answers_.end()) erase(oldest);
}

void Answers::note_told(uint64_t event, bool may_be_lost) {
  const auto answer = answers_.find(event);
  if (answer == answers_.end()) return;
  if (!may_be_lost) {
    erase(answer);
  } else if (!std::exchange(answer->second.is_told, true)) {
    --untold_;
  }
}

void Answers::forget_through(uint32_t stream, uint64_t event) {
  for (auto answer = answers_.begin(); answer != answers_.end() && answer->first <= event;) {
    answer = answer->second.stream == stream ? erase(answer) : std::next(answer);
  }
}

void Answers::move(uint64_t from, uint64_t to) {
  auto answer = answers_.extract(from);
  if (answer.empty()) return;
  answer.key() = to;
  answer.mapped().stream = 0;
  answers_.insert(std::move(answer));
}

std::vector<Answers::Lost> Answers::lost(uint32_t stream, uint64_t after,
                                         const std::set<uint64_t>& kept) const {
  std::vector<Lost> lost;
  for (auto answer = answers_.upper_bound(after); answer != answers_.end(); ++answer) {
    if (answer->second.stream != stream || kept.contains(answer->first)) continue;
    lost.push_back(
        {answer->first,
         rpc::error_text(answer->second.id, rpc::rpc_error_code(rpc::RpcError::internal_error),
                         "the answer was too much to keep while the client was away")});
  }
  return lost;
}

Answers::Table::iterator Answers::erase(Table::iterator answer) {
  if (!answer->second.is_told) --untold_;
  id_bytes_ -= answer->second.id.size();
  return answers_.erase(answer);
}

}  // namespace stdgate::acp
