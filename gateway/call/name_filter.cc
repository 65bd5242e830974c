#include "gateway/call/name_filter.h"

#include <algorithm>
#include <cstdint>

#include "gateway/base/text.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::call {

NameTable::NameTable(size_t capacity, std::function<void(NameId, std::string_view)> admitted)
    : capacity_(std::min<size_t>(capacity, UINT16_MAX - 1)), admitted_(std::move(admitted)) {
  names_.emplace_back("_other");
  admitted_(kOtherName, names_.front());
}

NameId NameTable::find(std::string_view name) const {
  if (same_text(name, last_name_)) return last_;
  const auto found = ids_.find(name);
  if (found == ids_.end()) return kOtherName;
  last_name_ = found->first;
  return last_ = found->second;
}

NameId NameTable::admit(std::string_view name) {
  const NameId known = find(name);
  const bool is_reserved = name == names_[kOtherName];
  if (known != kOtherName || is_reserved) return known;
  if (names_.size() > capacity_ || name.size() > kMaxName) return kOtherName;
  const auto id = static_cast<NameId>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(names_.back(), id);
  admitted_(id, names_.back());
  return id;
}

NameId NameTable::learn(std::string_view name, TimePoint now) {
  const NameId known = find(name);
  if (known != kOtherName || names_.size() > capacity_) return known;
  if (2 * names_.size() > capacity_) {
    if (now - minute_ >= std::chrono::minutes(1)) {
      minute_ = now;
      learnt_in_minute_ = 0;
    }
    if (learnt_in_minute_ == kMaxLearntPerMinute) return kOtherName;
    ++learnt_in_minute_;
  }
  return admit(name);
}

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
