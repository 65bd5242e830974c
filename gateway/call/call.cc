#include "gateway/call/call.h"

#include <bit>
#include <string>

#include "gateway/config/value_parser.h"

namespace stdgate::call {

CallSlots::CallSlots(const SlotLayout& layout)
    : layout_(&layout), bytes_(std::make_unique<std::byte[]>(layout.bytes_)) {
  for (const SlotLayout::Kind& kind : layout.kinds_) kind.make(bytes_.get() + kind.offset);
}

CallSlots::~CallSlots() {
  if (layout_ == nullptr) return;
  for (const SlotLayout::Kind& kind : layout_->kinds_) kind.destroy(bytes_.get() + kind.offset);
}

void CallSlots::clear_used() {
  for (uint32_t left = std::exchange(used_, 0); left != 0; left &= left - 1) {
    const SlotLayout::Kind& kind = layout_->kinds_[static_cast<size_t>(std::countr_zero(left))];
    kind.clear(bytes_.get() + kind.offset);
  }
}

namespace {

// The text names the gateway, because other programs on the way have timeouts too.
rpc::FaultReport give_up(std::string what, Duration time, const std::string& key) {
  return rpc::faults::timed_out("stdgate gave up: " + std::move(what) + " " +
                                config::print_duration(time) + " (" + key + ")");
}

}  // namespace

rpc::FaultReport gave_up(const Call& call, CallPlace place, TimePoint heard,
                         const config::BackendConfig& config) {
  const std::string prefix = "backends." + config.name + ".";
  if (heard + call.timeout > latest_end(call, config)) {
    return give_up("no answer within", config.max_time, prefix + "max_time");
  }
  const char* const what = place == CallPlace::in_flight ? "no answer and no sign of life for"
                                                         : "no child has taken the call within";
  return give_up(what, call.timeout, prefix + "timeout");
}

rpc::FaultReport gave_up_question(const config::BackendConfig& config, Duration input_timeout) {
  const Duration time = question_time(config, input_timeout);
  return give_up("the client has not answered within", time,
                 time > input_timeout ? "backends." + config.name + ".linger" : "timeouts.input");
}

}  // namespace stdgate::call
