// The names under which methods and tools are counted: a bounded table, and the filter that looks
// them up.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/base/time.h"
#include "gateway/call/filter.h"
#include "gateway/observer.h"

namespace stdgate::call {

// NameTable: the method names, or tool names, of one backend that metrics tell apart.
//
// The table is bounded, because metrics would otherwise grow with each name that a client invents.
// A name gets a place when it is configured, when the protocol defines it, or when a child has
// shown that it knows the name. A child may answer to any name. So learnt names fill half of the
// places at once, but the rest only at kMaxLearntPerMinute, so that operators can notice a flood of
// invented names. Names that must have a place should be configured. Names beyond `capacity`, and
// names longer than kMaxName, are kOtherName. Owner: the backend.
class NameTable {
 public:
  static constexpr size_t kMaxName = 1024;
  static constexpr size_t kMaxLearntPerMinute = 6;

  // `admitted(id, name)` is called with each new name, kOtherName first.
  NameTable(size_t capacity, std::function<void(NameId, std::string_view)> admitted);

  // kOtherName when the name has no place.
  [[nodiscard]] NameId find(std::string_view name) const;
  // Gives the name a place if one is free.
  NameId admit(std::string_view name);
  // Like admit(), but for a name that a child has answered to. kMaxLearntPerMinute applies.
  NameId learn(std::string_view name, TimePoint now);
  [[nodiscard]] std::string_view name(NameId id) const { return names_[id]; }
  [[nodiscard]] size_t size() const { return names_.size(); }

 private:
  const size_t capacity_;
  const std::function<void(NameId, std::string_view)> admitted_;
  std::deque<std::string> names_;  // by id; a deque, because the index views into it
  std::unordered_map<std::string_view, NameId> ids_;
  // Found last: clients repeat themselves.
  mutable std::string_view last_name_ = "_other";
  mutable NameId last_ = kOtherName;
  TimePoint minute_{};           // beginning of the minute that counts
  size_t learnt_in_minute_ = 0;  // names beyond the half
};

// LabelNames: the names of methods and tools that metrics tell apart at one backend.
//
// The observer hears of each name when the name gets its place. Owner: the backend, or the owner of
// several pools of one backend, which share the names as they share the backend's id. Limits: see
// NameTable.
class LabelNames {
 public:
  // `observer` outlives this, and knows the backend by this id.
  LabelNames(BackendId backend, size_t capacity, Observer& observer)
      : methods_(capacity,
                 [backend, &observer](MethodId method, std::string_view name) {
                   observer.on_method(backend, method, name);
                 }),
        tools_(capacity, [backend, &observer](ToolId tool, std::string_view name) {
          observer.on_tool(backend, tool, name);
        }) {}

  [[nodiscard]] NameTable& methods() { return methods_; }
  [[nodiscard]] NameTable& tools() { return tools_; }

 private:
  NameTable methods_;
  NameTable tools_;
};

// NameFilter: finds the method and the tool of a call, by names that metrics tell apart.
//
// A name that has no place gets one when a child has shown that it knows the name. Owner: the
// backend. Limits: see NameTable.
class NameFilter final : public Filter {
 public:
  NameFilter(LabelNames& names, const Clock& clock, CallStore& calls)
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
