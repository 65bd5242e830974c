// NameFilter: finds the method and the tool of a call, by names that metrics tell apart.
//
// A name that has no place gets one when a child has shown that it knows the name. Owner: the
// backend. Limits: see NameTable.
#pragma once

#include <string>
#include <string_view>

#include "gateway/call/filter.h"
#include "gateway/call/name_table.h"

namespace stdgate::call {

class NameFilter final : public Filter {
 public:
  NameFilter(BackendNames& names, const Clock& clock, CallStore& calls)
      : methods_(names.methods()),
        tools_(names.tools()),
        clock_(clock),
        texts_(calls.reserve<Texts>()) {}

  void on_begin(Call& call, const Arrival& arrival) override;
  void on_answer(CallPtr& call, Answer& answer) override {
    if (call->method == kOtherMethod || call->tool == kOtherTool) learn(*call, answer);
  }
  void on_fault(CallPtr& call, const rpc::FaultReport& report) override;

 private:
  // Names without a place, which the call shows.
  struct Texts {
    std::string method;
    std::string tool;
    void clear();
  };

  void note_tool(Call& call, std::string_view spelled);
  void learn(Call& call, const Answer& answer);
  void learn_method(Call& call) {
    if (call.method != kOtherMethod) return;
    call.method = methods_.learn(call.method_name, clock_.now());
  }

  NameTable& methods_;
  NameTable& tools_;
  const Clock& clock_;
  const Slot<Texts> texts_;
  std::string tool_;  // scratch
};

}  // namespace stdgate::call
