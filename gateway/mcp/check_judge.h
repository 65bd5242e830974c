// CheckJudge: holds arguments and results of MCP's tools against the schemas that their server
// lists.
//
// Job: answer a call whose arguments do not fit by a tool error that says where and what was
// expected, so that a model can mend it; turn a result that does not fit into a fault. Lists of
// children may differ: a child gets a call only if the call fits the child's own list, and a result
// is checked against the list of the child that gave it. A schema that cannot be compiled, or has
// no room, lets everything pass, and is logged and counted. A notification that calls a tool is
// dropped. Owner: JudgingFilter. Limits: the limits of ToolSchemas and ToolList; tools beyond them
// are not checked. What is found of a tool is kept for kFound tools.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/mcp/listed_filter.h"
#include "gateway/mcp/tool_schemas.h"
#include "gateway/schema/json_schema.h"
#include "gateway/schema/schema_check.h"

namespace stdgate::mcp {

class CheckJudge final : public ListJudge {
 public:
  CheckJudge(const pool::FilterServices& services, ListedFilter& lists);

  std::optional<size_t> on_request(call::CallPtr& call, const call::Request& request) override;
  call::Passage on_notification(const call::Notification& notification) override;
  void judge(call::CallPtr& call, const call::Request& request) override;
  void learn(const ListPage& page) override;
  void see(call::CallPtr& call, call::Answer& answer) override;
  void forget_child(uint64_t child) override;
  void drop_kept() override { schemas_->drop_compiled(); }
  [[nodiscard]] bool suits(const call::Call& call, uint64_t child) const override;

 private:
  using Tool = ToolList::Tool;
  using ToolsRef = std::shared_ptr<const ToolList>;  // equal ones are shared
  // The tools that a child has listed.
  struct Listed {
    ListScope scope = 0;
    ToolsRef tools;                        // null: nothing yet
    std::map<ListScope, ToolList> coming;  // the pages so far, while the list is being asked for
  };
  // Distinct tool lists of a scope.
  struct Known {
    std::vector<ToolsRef> lists;
    TimePoint asked{};  // for the latest list
  };
  // Fitting: the lists that a call fits. Calls of a tool share it.
  struct Fitting {
    std::vector<ToolsRef> lists;
    const ToolList::Tools::value_type* tool =
        nullptr;  // in the last one of them; null: no list has it
    // Children that may get such a call, while `lists_epoch_` is this one.
    mutable FoundChildren suited;
    mutable uint64_t epoch = 0;
    [[nodiscard]] bool is_same(const Fitting& other) const {
      return lists == other.lists && tool == other.tool;
    }
  };
  using FittingRef = std::shared_ptr<const Fitting>;
  // State of a judged call.
  struct State {
    FittingRef fitting;
    void clear() { fitting.reset(); }
  };
  // The lists that calls of a listed tool fit, found once. Valid until the lists of the scope
  // change.
  struct Found {
    ListScope scope = 0;
    FittingRef fitting;    // null: nothing; the tool's name is as calls spell it
    bool is_only = false;  // all lists that have the tool say the same of its arguments
  };
  static constexpr size_t kFound = 16;
  // Readers could see different tools or arguments, or another method.
  void refuse_lookalikes(call::CallPtr& call);

  void read_tools(std::string_view payload, ToolList& tools);
  // A list that a client has asked for.
  void overhear(std::string_view payload, uint64_t child);
  ToolsRef shared(ToolList tools);
  void gather(ListScope scope);
  // The called tool, as this list has it; null: it has not.
  static const Tool* tool_in(const ToolList& tools, const Fitting& fitting);
  [[nodiscard]] std::span<const ToolsRef> lists_of(ListScope scope) const {
    const auto known = known_.find(scope);
    return known == known_.end() ? std::span<const ToolsRef>() : known->second.lists;
  }
  SchemaRef keep(std::string_view text, std::string_view tool);
  // Whether a child whose list is known may get such a call.
  [[nodiscard, gnu::noinline]] bool suits(const Fitting& fitting, uint64_t child) const;
  static bool allows(const Fitting& fitting, const ToolList& tools);
  void tell_unchecked(std::string_view tool, std::string_view why);
  // The place for what is found of a tool, which another one may have taken.
  Found& place_of(ListScope scope, std::string_view tool);
  // Whether the call fits by what has been found of its tool.
  bool fits_found(const Found& found, ListScope scope, const call::ClientIntent& intent);
  void judge_anew(call::CallPtr& call, const call::Request& request, ListScope scope);
  // Notes which lists the call fits. If it fits none: why.
  std::optional<std::string> compare(State& state, ListScope scope,
                                     const call::ClientIntent& intent);
  FittingRef shared(Fitting fitting, Found& found);
  // The servers are asked, once in a while, whether they have the tool by now.
  void look_for_new(ListScope scope);
  bool fits(ToolSchemas::Schema& text, std::string_view tool, std::string_view value);
  // Also whether no key may be taken for that of a declared argument.
  bool fits_arguments(ToolSchemas::Schema& text, std::string_view tool, std::string_view value);
  [[gnu::noinline]] bool has_clear_keys(const schema::JsonSchema& schema,
                                        std::string_view arguments, bool fits);
  // Why the value that was checked last does not fit the schema; `whole`: what it is called.
  std::string misfit(const ToolSchemas::Schema& text, std::string_view whole);
  std::optional<std::string> misfit_of_result(const call::Call& call, const call::Answer& answer);

  const pool::PoolServices& services_;
  call::Chain& chain_;
  ListedFilter& lists_;
  const config::CheckConfig& config_;
  const call::Slot<State> states_;
  std::map<uint64_t, Listed> children_;  // by number of the child
  std::map<ListScope, Known> known_;
  uint64_t lists_epoch_ = 1;  // another one when a child lists something else
  std::array<Found, kFound> found_;
  std::vector<std::weak_ptr<const ToolList>> shared_;  // all of these lists
  const ToolSchemasRef schemas_;
  schema::SchemaCheck check_;
  std::optional<std::string> lookalike_;  // what was expected in place of a key
  std::string scratch_;
};

}  // namespace stdgate::mcp
