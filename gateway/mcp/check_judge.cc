#include "gateway/mcp/check_judge.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/text.h"
#include "gateway/call/rule_filter.h"
#include "gateway/mcp/param_headers.h"
#include "gateway/mcp/tool_lock.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/schema/json_schema.h"
#include "gateway/schema/plain_check.h"

namespace stdgate::mcp {

namespace {

constexpr auto kTools = static_cast<size_t>(McpListKind::tools);

bool is_tool_call(std::string_view method) { return same_text(method, "tools/call"); }

// A client must not get past a check by making its schema the next to be compiled.
constexpr std::string_view kLacksSteps =
    "the server's schemas change too often, or are too large, to be compiled now";

std::string_view arguments_of(const call::ClientIntent& intent) {
  return intent.arguments.empty() ? "{}" : intent.arguments;
}

}  // namespace

std::string tool_error_member(std::string_view text, bool is_modern) {
  std::string member = R"("result":{)";
  if (is_modern) member += R"("resultType":"complete",)";
  member += R"("content":[{"type":"text","text":)";
  rpc::append_json_string(member, text);
  return member + R"(}],"isError":true})";
}

CheckJudge::CheckJudge(const pool::FilterServices& services, ListedFilter& lists)
    : services_(services.services),
      chain_(services.services.chain),
      lists_(lists),
      config_(services.services.config.check),
      states_(services.services.calls.reserve<State>()),
      schemas_(std::make_shared<ToolSchemas>(
          services.services.payer, services.services.core.clock,
          [this](std::string_view tool, std::string_view why) { tell_unchecked(tool, why); })) {}

// --- Tools ----------------------------------------------------------------------------------

void CheckJudge::tell_unchecked(std::string_view tool, std::string_view why) {
  services_.core.observer.on_check_failed(services_.backend, CheckFailure::schema);
  if (why.empty()) return;
  services_.core.log.write(LogLevel::warn, "a schema cannot be compiled, and checks nothing",
                           {{"backend", services_.config.name}, {"tool", tool}, {"reason", why}});
}

SchemaRef CheckJudge::keep(std::string_view text, std::string_view tool) {
  return text.starts_with('{') ? schemas_->keep(text, tool) : nullptr;
}

void CheckJudge::read_tools(std::string_view payload, ToolList& tools) {
  rpc::JsonCursor cursor(rpc::member_or_empty(payload, "tools"));
  if (!cursor.take('[') || cursor.take(']')) return;
  do {
    const std::string_view text = cursor.take_value();
    std::string name(
        rpc::decode_string(rpc::string_content(rpc::member_or_empty(text, "name")), scratch_));
    if (name.empty()) continue;
    Tool tool;
    if (config_.arguments) tool.input = keep(rpc::member_or_empty(text, "inputSchema"), name);
    if (config_.results) tool.output = keep(rpc::member_or_empty(text, "outputSchema"), name);
    if (tool.output != nullptr) lists_.show_judged();
    if (!tools.put(name, std::move(tool))) schemas_->tell_of_no_room(name);
  } while (cursor.take(','));
}

CheckJudge::ToolsRef CheckJudge::shared(ToolList tools) {
  std::erase_if(shared_, [](const auto& list) { return list.expired(); });
  for (const auto& list : shared_) {
    if (ToolsRef known = list.lock(); *known == tools) return known;
  }
  auto list = std::make_shared<const ToolList>(std::move(tools));
  shared_.push_back(list);
  return list;
}

void CheckJudge::gather(ListScope scope) {
  ++lists_epoch_;
  for (Found& found : found_) {
    if (found.scope == scope) found = Found();
  }
  std::vector<ToolsRef>& lists = known_[scope].lists;
  lists.clear();
  for (const auto& [number, listed] : children_) {
    if (listed.scope != scope || listed.tools == nullptr) continue;
    if (std::ranges::find(lists, listed.tools) == lists.end()) lists.push_back(listed.tools);
  }
  if (lists.empty()) known_.erase(scope);
}

void CheckJudge::learn(const ListPage& page) {
  const auto scope = lists_.scope_of_child(page.child);
  if (page.list != kTools || !scope) return;
  Listed& listed = children_[page.child];
  if (page.is_first) listed.coming.erase(page.scope);
  ToolList& tools = listed.coming.try_emplace(page.scope, schemas_).first->second;
  read_tools(page.payload, tools);
  if (!page.is_last) return;
  listed.scope = *scope;
  listed.tools = shared(std::move(tools));
  listed.coming.erase(page.scope);
  gather(listed.scope);
  known_[listed.scope].asked = services_.core.clock.now();
}

void CheckJudge::overhear(std::string_view payload, uint64_t child) {
  const auto known = children_.find(child);
  if (known == children_.end() || known->second.tools == nullptr) return;
  Listed& listed = known->second;
  ToolList heard(schemas_);
  read_tools(payload, heard);
  // Nearly always it says what is known.
  if (heard == *listed.tools) return;
  ToolList all(schemas_);
  bool has_room = true;
  bool has_changed = false;
  for (const auto& [name, tool] : listed.tools->all()) has_room = all.put(name, tool) && has_room;
  for (const auto& [name, tool] : heard.all()) {
    const auto* const before = listed.tools->find(name);
    has_changed = has_changed || (before != nullptr && before->second != tool);
    all.put(name, tool);
  }
  if (has_room && all == *listed.tools) return;
  if (has_room) {
    listed.tools = shared(std::move(all));
    gather(listed.scope);
  }
  if (has_room && !has_changed) return;
  // The child has changed its tools without telling. The other pages may have changed too.
  lists_.distrust(listed.scope, kTools, child);
}

void CheckJudge::forget_child(uint64_t child) {
  const auto listed = children_.find(child);
  if (listed == children_.end()) return;
  const ListScope scope = listed->second.scope;
  children_.erase(listed);
  gather(scope);
}

// --- Arguments ------------------------------------------------------------------------------

[[gnu::always_inline]] inline bool CheckJudge::fits(ToolSchemas::Schema& text,
                                                    std::string_view tool, std::string_view value) {
  const schema::JsonSchema* const schema = schemas_->compiled(text, tool);
  if (schema == nullptr) return !ToolSchemas::lacks_steps(text);
  return check_.check(*schema, value) == schema::Fit::fits && !check_.has_repeated_key();
}

[[gnu::always_inline]] inline bool CheckJudge::fits_arguments(ToolSchemas::Schema& text,
                                                              std::string_view tool,
                                                              std::string_view value) {
  const schema::JsonSchema* const schema = schemas_->compiled(text, tool);
  if (schema == nullptr) return !ToolSchemas::lacks_steps(text);
  const bool fits = check_.check(*schema, value) == schema::Fit::fits;
  return (fits && check_.is_settled()) || has_clear_keys(*schema, value, fits);
}

bool CheckJudge::has_clear_keys(const schema::JsonSchema& schema, std::string_view arguments,
                                bool fits) {
  lookalike_.reset();
  if (!fits || check_.has_repeated_key()) return false;
  lookalike_ = schema::KeyLookalikes::find(schema.compiled(), arguments);
  return !lookalike_;
}

std::string CheckJudge::misfit(const ToolSchemas::Schema& text, std::string_view whole) {
  if (ToolSchemas::lacks_steps(text)) return std::string(kLacksSteps);
  if (lookalike_) return std::string(whole) + ": expected " + *std::exchange(lookalike_, {});
  if (!check_.misfits().empty()) return text_of(check_.misfits(), whole);
  const auto repeated = check_.repeated_key();
  return schema::text_of({repeated.value_or(schema::Misfit())}, whole);
}

CheckJudge::Found& CheckJudge::place_of(ListScope scope, std::string_view tool) {
  const size_t last = tool.empty() ? 0 : static_cast<unsigned char>(tool.back());
  return found_[(scope + tool.size() + last) % kFound];
}

[[gnu::always_inline]] inline bool CheckJudge::fits_found(const Found& found, ListScope scope,
                                                          const call::ClientIntent& intent) {
  if (!found.is_only || found.scope != scope) return false;
  const auto& [name, tool] = *found.fitting->tool;
  if (!same_short_text(name, intent.tool)) return false;
  return tool.input == nullptr || fits_arguments(*tool.input, name, arguments_of(intent));
}

std::optional<std::string> CheckJudge::compare(State& state, ListScope scope,
                                               const call::ClientIntent& intent) {
  const std::span<const ToolsRef> lists = lists_of(scope);
  const std::string_view name = rpc::decode_string(intent.tool, scratch_);
  Fitting fitting;
  const Tool* bad = nullptr;
  size_t compared = 0;
  std::optional<std::string> why;
  for (const ToolsRef& tools : lists) {
    const auto* const tool = tools->find(name);
    if (tool == nullptr || (bad != nullptr && bad->input == tool->second.input)) continue;
    const bool is_like_another = std::ranges::any_of(fitting.lists, [&](const ToolsRef& one) {
      return one->find(name)->second.input == tool->second.input;
    });
    if (!is_like_another) ++compared;
    const SchemaRef& input = tool->second.input;
    const bool does_fit =
        is_like_another || input == nullptr || fits_arguments(*input, name, arguments_of(intent));
    if (does_fit) {
      fitting.lists.push_back(tools);
      fitting.tool = tool;
    } else {
      bad = &tool->second;
      std::string reason = misfit(*input, "arguments");
      if (!why) why = std::move(reason);
    }
  }
  if (fitting.lists.empty() && why) return why;
  // A child that does not list the tool is no way around the list of another one.
  if (fitting.lists.empty()) fitting.lists.assign(lists.begin(), lists.end());
  Found& place = place_of(scope, intent.tool);
  state.fitting = shared(std::move(fitting), place);
  // With escapes, another name could be spelled as this one is.
  const bool is_kept = state.fitting->tool != nullptr && !rpc::has_escapes(intent.tool);
  if (is_kept) place = {scope, state.fitting, compared == 1};
  return std::nullopt;
}

// Nearly always the calls of a tool fit the same lists.
CheckJudge::FittingRef CheckJudge::shared(Fitting fitting, Found& found) {
  if (found.fitting != nullptr && found.fitting->is_same(fitting)) return found.fitting;
  return std::make_shared<const Fitting>(std::move(fitting));
}

void CheckJudge::look_for_new(ListScope scope) {
  const auto known = known_.find(scope);
  const TimePoint now = services_.core.clock.now();
  if (known == known_.end() || now < known->second.asked + ListedFilter::kAskAgain) return;
  for (const auto& [number, listed] : children_) {
    if (listed.scope == scope) lists_.distrust(scope, kTools, number);
  }
}

void CheckJudge::refuse_lookalikes(call::CallPtr& call) {
  const auto report = rpc::faults::because(rpc::Fault::invalid_request,
                                           "readers could see different tools or arguments");
  chain_.on_fault(std::move(call), report);
}

std::optional<size_t> CheckJudge::on_request(call::CallPtr& call, const call::Request& request) {
  if (request.message.has_lookalikes) {
    refuse_lookalikes(call);
  } else if (is_tool_call(request.method)) {
    return kTools;
  }
  return std::nullopt;
}

void CheckJudge::judge(call::CallPtr& call, const call::Request& request) {
  if (!request.intent.is_clear) return refuse_lookalikes(call);
  const ListScope scope = lists_.scope_of(*call);
  const Found& found = place_of(scope, request.intent.tool);
  if (!fits_found(found, scope, request.intent)) return judge_anew(call, request, scope);
  states_.of(call->slots).fitting = found.fitting;
}

void CheckJudge::judge_anew(call::CallPtr& call, const call::Request& request, ListScope scope) {
  State& state = states_.of(call->slots);
  const auto misfit = compare(state, scope, request.intent);
  if (!misfit && state.fitting->tool != nullptr) return;
  if (!misfit) {
    const std::string_view name = rpc::decode_string(request.intent.tool, scratch_);
    if (!policy::is_plain_name(name)) return refuse_lookalikes(call);
    return look_for_new(scope);
  }
  if (*misfit == kLacksSteps) {
    return chain_.on_fault(std::move(call), rpc::faults::overloaded(std::string(kLacksSteps)));
  }
  services_.core.observer.on_check_failed(services_.backend, CheckFailure::arguments);
  const bool is_modern = call->client_kind == PeerKind::stateless;
  const call::CallPtr refused = std::move(call);
  chain_.answer(*refused, Outcome::tool_error(),
                tool_error_member("Invalid arguments. " + *misfit, is_modern), {}, *misfit);
}

// A call without an answer is none that MCP knows, and could not wait.
call::Passage CheckJudge::on_notification(const call::Notification& notification) {
  const bool is_call = is_tool_call(notification.method) || notification.message.has_lookalikes;
  if (!is_call) return call::Passage::open;
  services_.core.observer.on_check_failed(services_.backend, CheckFailure::arguments);
  return call::Passage::denied;
}

// --- Children that may get a call -----------------------------------------------------------

bool CheckJudge::suits(const call::Call& call, uint64_t child) const {
  const Fitting& fitting = *states_.find(call.slots)->fitting;
  return (fitting.epoch == lists_epoch_ && fitting.suited.has(child)) || suits(fitting, child);
}

bool CheckJudge::suits(const Fitting& fitting, uint64_t child) const {
  if (fitting.epoch != lists_epoch_) fitting.suited.clear();
  fitting.epoch = lists_epoch_;
  const bool does_suit = allows(fitting, *children_.find(child)->second.tools);
  if (does_suit) fitting.suited.add(child);
  return does_suit;
}

bool CheckJudge::allows(const Fitting& fitting, const ToolList& tools) {
  if (std::ranges::any_of(fitting.lists, [&](const auto& one) { return one.get() == &tools; })) {
    return true;
  }
  if (fitting.tool == nullptr) return false;
  const auto* const tool = tools.find(fitting.tool->first);
  return tool != nullptr && std::ranges::any_of(fitting.lists, [&](const ToolsRef& one) {
           return one->find(fitting.tool->first)->second.input == tool->second.input;
         });
}

const CheckJudge::Tool* CheckJudge::tool_in(const ToolList& tools, const Fitting& fitting) {
  if (&tools == fitting.lists.back().get()) return &fitting.tool->second;
  const auto* const tool = tools.find(fitting.tool->first);
  return tool == nullptr ? nullptr : &tool->second;
}

// --- Results --------------------------------------------------------------------------------

std::optional<std::string> CheckJudge::misfit_of_result(const call::Call& call,
                                                        const call::Answer& answer) {
  const Fitting& fitting = *states_.find(call.slots)->fitting;
  if (fitting.tool == nullptr) return std::nullopt;
  const auto listed = children_.find(answer.child);
  const ToolList& tools = listed != children_.end() && listed->second.tools != nullptr
                              ? *listed->second.tools
                              : *fitting.lists.back();
  const Tool* const tool = tool_in(tools, fitting);
  if (tool == nullptr || tool->output == nullptr) return std::nullopt;
  static constexpr std::string_view kUnclear = "readers could see different results";
  if (answer.message.has_lookalikes) return std::string(kUnclear);
  if (answer.message.kind != rpc::MessageKind::result) return std::nullopt;
  static constexpr std::array<std::string_view, 4> kKeys = {"isError", "structuredContent",
                                                            "resultType", "task"};
  std::array<rpc::Member, kKeys.size()> members;
  rpc::find_clear_members(answer.payload, kKeys, members);
  const bool is_clear = std::ranges::all_of(
      members, [](const rpc::Member& member) { return member || is_absent(member); });
  if (!is_clear) return std::string(kUnclear);
  const std::string_view type = members[2].value_or(R"("complete")");
  if (members[0].value_or("false") == "true") return std::nullopt;  // errors have no result
  if (!members[1]) {
    // A result that is not complete has no structuredContent yet.
    if (members[3] || type != R"("complete")") return std::nullopt;
    return "structuredContent: expected, as there is an outputSchema";
  }
  if (fits(*tool->output, fitting.tool->first, *members[1])) return std::nullopt;
  return misfit(*tool->output, "structuredContent");
}

void CheckJudge::see(call::CallPtr& call, call::Answer& answer) {
  // All calls of tools have been judged, and nothing else.
  if (states_.find(call->slots) == nullptr) {
    if (call->method_name != kToolList) return;
    if (!call::has_clear_list(answer, kPinnedLists[kTools].member)) {
      return lists_.refuse_list(call, kTools, answer.child);
    }
    if (answer.message.kind != rpc::MessageKind::result) return;
    return overhear(answer.payload, answer.child);
  }
  if (!config_.results) return;
  const auto misfit = misfit_of_result(*call, answer);
  if (!misfit) return;
  services_.core.observer.on_check_failed(services_.backend, CheckFailure::result);
  chain_.on_fault(std::move(call), rpc::faults::child_failed(
                                       "the result does not fit the tool's outputSchema", *misfit));
}

}  // namespace stdgate::mcp
