// ParamFilter: holds calls of tools against what their clients repeat of the arguments in header
// fields `Mcp-Param-NAME` (param_headers.h). The one place that compares both.
//
// Job: know the marked arguments of the backend's tools: from the lists that children answer, and
// from one list of its own, which is asked when a tool is called that is not known. Calls are held
// for it, kMaxWait at most and within their deadlines, and go on in the order of their arrival. A
// tool that is still not known then is not compared. A list that has changed is asked for again,
// and one that could not be had, after kAskAgain. A session's own child does not say what other
// clients have to repeat.
// Owner: the backend (Dialect::add_filters). Limits: kMaxTools tools with marks, whose texts have
// kMaxTextBytes, and kMaxMarks marks each, others are not known; kMaxPages parts of the list; those
// of the chain for calls that are held.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gateway/call/chain.h"
#include "gateway/mcp/param_headers.h"
#include "gateway/pool/filter_services.h"
#include "gateway/pool/pool.h"

namespace stdgate::mcp {

class ParamFilter final : public call::Filter {
 public:
  static constexpr size_t kMaxTools = 512;
  static constexpr size_t kMaxTextBytes = 256 << 10;
  static constexpr size_t kMaxPages = 16;
  static constexpr Duration kMaxWait = std::chrono::seconds(5);
  static constexpr Duration kAskAgain = std::chrono::minutes(1);

  // `stamp`: the members of _meta that a request of the gateway has.
  ParamFilter(const pool::FilterServices& services, std::string stamp);

  void on_request(call::CallPtr& call, const call::Request& request) override {
    if (request.context.mirrored && !request.intent.tool.empty()) compare(call, request);
  }
  void on_released(call::CallPtr call, const call::Request& request) override;
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    if (call->method_name == kToolList) learn(call, answer.message);
  }
  void on_fault(call::CallPtr& call, const rpc::FaultReport& report) override;
  bool on_child_message(call::ChildMessage& message) override;
  void on_child_gone(const call::ChildRef& child) override {
    if (child.is_shared) is_known_ = false;
  }

 private:
  struct State {
    std::string fields;   // while the call is held: what is repeated of it
    bool is_own = false;  // it asks for the list

    void clear() {
      call::clear_text(fields);
      is_own = false;
    }
  };

  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  [[nodiscard]] bool is_own(const call::Call& call) const {
    const State* const state = states_.find(call.slots);
    return state != nullptr && state->is_own;
  }
  void compare(call::CallPtr& call, const call::Request& request);
  // Whether the call is to wait for a list.
  bool is_unsettled(std::string_view tool);
  // If it contradicts what is repeated of it, as far as that is known.
  void refuse_mismatch(call::CallPtr& call, const rpc::Envelope& request, std::string_view fields);
  // `child`: the number of the one that has given the cursor; 0: any may answer.
  void ask(std::string_view cursor, uint64_t child);
  void end_asking(bool is_known);
  void learn(call::CallPtr& call, const rpc::Envelope& answer);
  void keep(const ToolPage& page);
  void remove(std::string_view name);

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;
  const call::Slot<State> states_;
  const std::string stamp_;
  std::map<std::string, MarkedTool, std::less<>> tools_;  // by name
  size_t text_bytes_ = 0;                                 // of these
  bool is_known_ = false;     // every tool that has marks is in the table, as far as there is room
  bool is_asked_ = false;     // a list of its own is under way
  bool has_changed_ = false;  // since it was asked
  size_t pages_ = 0;          // of it
  TimePoint not_before_{};    // the next one
  TimePoint until_{};         // calls that are held wait for the list
  std::string tool_;          // scratch
};

}  // namespace stdgate::mcp
