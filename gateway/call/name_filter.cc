#include "gateway/call/name_filter.h"

#include "gateway/rpc/json_text.h"

namespace stdgate::call {

void NameFilter::Texts::clear() {
  clear_text(method);
  clear_text(tool);
}

void NameFilter::on_begin(Call& call, const Arrival& arrival) {
  call.method = methods_.find(arrival.method);
  if (call.method != kOtherMethod) {
    call.method_name = methods_.name(call.method);
  } else {
    std::string& text = texts_.of(call.slots).method;
    text = arrival.method;
    call.method_name = text;
  }
  if (!arrival.tool.empty()) note_tool(call, arrival.tool);
}

void NameFilter::note_tool(Call& call, std::string_view spelled) {
  const std::string_view name = rpc::decode_string(spelled, tool_);
  call.tool = tools_.find(name);
  if (call.tool != kOtherTool) {
    call.tool_name = tools_.name(*call.tool);
    return;
  }
  // A name over the limit is cut to one byte above the limit, so that it still gets no place.
  std::string& text = texts_.of(call.slots).tool;
  text = name.substr(0, NameTable::kMaxName + 1);
  call.tool_name = text;
}

void NameFilter::learn(Call& call, const Answer& answer) {
  // A child may not know the method; then an invented name must not fill the table.
  if (call.method == kOtherMethod &&
      (answer.outcome != Outcome::error() ||
       rpc::error_code(answer.message) != rpc::rpc_error_code(rpc::RpcError::method_not_found))) {
    learn_method(call);
  }
  if (call.tool == kOtherTool &&
      (answer.outcome == Outcome::ok() || answer.outcome == Outcome::tool_error())) {
    call.tool = tools_.learn(call.tool_name, clock_.now());
  }
}

// A child that died during the call, or did not finish it, probably knows the method.
void NameFilter::on_fault(CallPtr& call, const rpc::FaultReport& report) {
  const bool was_taken = call->written != TimePoint{} && (report.fault == rpc::Fault::timeout ||
                                                          report.fault == rpc::Fault::child_failed);
  if (was_taken) learn_method(*call);
}

}  // namespace stdgate::call
