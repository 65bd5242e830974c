// ParamFilter: compares arguments of tool calls with their copies in header fields `Mcp-Param-NAME`
// (param_headers.h). The one place that compares both.
//
// Job: know the marked arguments of the backend's tools: from the lists that children answer, and
// from a list that the filter asks for when a call names an unknown tool. Calls wait for that list,
// kMaxWait at most and within their deadlines, and continue in the order of their arrival. Calls of
// a tool that is still unknown then are not compared. The filter asks again after a change of the
// list, and kAskAgain after a failure. Lists of a session's own child do not count, because they do
// not say what other clients have to repeat. Owner: McpFilters. Limits:
// kMaxTools tools with marks, kMaxTextBytes of their texts, and kMaxMarks marks of each; other
// tools stay unknown. kMaxPages pages of the list; the chain's limits of held calls.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gateway/call/chain.h"
#include "gateway/mcp/param_headers.h"
#include "gateway/pool/pool.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::mcp {

class McpDialect;

class ParamFilter final : public call::Filter {
 public:
  static constexpr size_t kMaxTools = 512;
  static constexpr size_t kMaxTextBytes = 256 << 10;
  static constexpr size_t kMaxPages = 16;
  static constexpr Duration kMaxWait = std::chrono::seconds(5);
  static constexpr Duration kAskAgain = std::chrono::minutes(1);

  ParamFilter(const pool::FilterServices& services, const McpDialect& dialect);

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
    std::string fields;   // the repeated arguments, while the call is held
    bool is_own = false;  // the gateway's own call for the list

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
  // Whether the call has to wait for a list.
  bool is_unsettled(std::string_view tool);
  // Refuses a call whose arguments are known to contradict `fields`.
  void refuse_mismatch(call::CallPtr& call, const rpc::Envelope& request, std::string_view fields);
  void begin_asking();
  void ask_anew();
  // `child`: number of the child that has given the cursor; 0: any child may answer.
  void ask(std::string_view cursor, uint64_t child);
  void end_asking(bool is_known);
  void learn(call::CallPtr& call, const rpc::Envelope& answer);
  void keep(const ToolPage& page);
  void remove(std::string_view name);

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  call::Chain& chain_;
  const call::Slot<State> states_;
  const McpDialect& dialect_;
  std::map<std::string, MarkedTool, std::less<>> tools_;  // by name
  size_t text_bytes_ = 0;                                 // of the texts in `tools_`
  bool is_known_ = false;     // all tools with marks are in `tools_`, as far as there is room
  bool is_asked_ = false;     // the filter's own request for the list is under way
  bool has_changed_ = false;  // since the list was asked for
  bool has_failed_ = false;   // a list of several pages, once, since calls wait for it
  size_t pages_ = 0;          // of the list under way
  uint64_t from_ = 0;         // the child that has given its first page
  TimePoint not_before_{};    // the next request for the list
  TimePoint until_{};         // held calls wait for the list
  std::string tool_;          // scratch
};

}  // namespace stdgate::mcp
