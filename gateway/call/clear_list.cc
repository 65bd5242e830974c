#include "gateway/call/clear_list.h"

#include "gateway/rpc/json_reader.h"

namespace stdgate::call {

bool has_clear_list(const Answer& answer, std::string_view member) {
  if (answer.message.has_lookalikes) return false;
  if (answer.message.kind != rpc::MessageKind::result) return true;
  const auto list = rpc::find_clear_member(answer.payload, member);
  return list && (list->starts_with('[') || *list == "null");
}

rpc::FaultReport unclear_list() {
  return rpc::faults::child_failed("readers could see different lists",
                                   "the server has given two, or none that is an array");
}

}  // namespace stdgate::call
