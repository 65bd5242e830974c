#include "gateway/servers/routes.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "gateway/base/text.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/servers/server_messages.h"
#include "gateway/servers/tool_search.h"

namespace stdgate::servers {

namespace {

// The length keeps an owner and an id apart, whatever characters they have.
std::string key_of(const std::string& owner, std::string_view shown) {
  std::string key = std::to_string(owner.size());
  return key.append(" ").append(owner).append(shown);
}

size_t bytes_of(const std::string& key, const TaskNames::Task& task) {
  return 2 * key.size() + task.own.size() + sizeof(task);
}

}  // namespace

std::string TaskNames::owner_of(session::SessionId session) {
  return "session " + std::to_string(session.index) + "." + std::to_string(session.generation);
}

std::string TaskNames::owner_of(const call::CallContext& context) {
  return context.session.is_none() ? policy::identity_of(context.principal)
                                   : owner_of(context.session);
}

std::string TaskNames::owner_of(const call::Call& call) {
  return call.session.is_none() ? call.identity : owner_of(call.session);
}

// A search stops at each occurrence of the first letter, and I is rare.
bool TaskNames::may_name(std::string_view text) {
  return text.find("Id\"") != std::string_view::npos;
}

const TaskNames::Task* TaskNames::find(const std::string& owner, std::string_view shown) const {
  const auto found = tasks_.find(key_of(owner, shown));
  return found == tasks_.end() ? nullptr : &found->second;
}

std::string TaskNames::shown(const rpc::Envelope& message, const TaskGiver& giver,
                             const std::string& owner) {
  const bool is_result = message.kind == rpc::MessageKind::result;
  const std::string_view object = is_result ? message.payload : message.params;
  const std::string_view meta = rpc::member_or_empty(object, "_meta");
  TextEdits edits(message.text);
  bool is_other = false;
  for (const std::string_view place : {object, rpc::member_or_empty(object, "task"),
                                       rpc::member_or_empty(meta, mcp::kRelatedTaskKey)}) {
    const std::string_view raw = rpc::member_or_empty(place, "taskId");
    if (!raw.starts_with('"')) continue;
    std::string scratch;
    const std::string own(rpc::decode_string(rpc::string_content(raw), scratch));
    const std::string id = shown_id(own, giver, owner);
    if (id == own) continue;
    edits.replace(raw, json_text(id));
    is_other = true;
  }
  return is_other ? edits.apply() : std::string();
}

std::string TaskNames::shown_id(std::string_view own, const TaskGiver& giver,
                                const std::string& owner) {
  std::string id(own);
  while (id.size() <= kMaxId) {
    const Task* const known = find(owner, id);
    if (known == nullptr) {
      note(owner, key_of(owner, id), {giver.member, std::string(own)});
      return id;
    }
    if (known->member == giver.member && known->own == own) return id;
    id.append(".").append(giver.name);
  }
  return std::string(own);
}

void TaskNames::note(const std::string& owner, std::string key, Task task) {
  held_.add(bytes_of(key, task));
  tasks_.emplace(key, std::move(task));
  order_[owner].push_back(std::move(key));
  if (tasks_.size() > kMaxTasks) forget_one();
}

void TaskNames::forget_one() {
  const auto most =
      std::ranges::max_element(order_, {}, [](const auto& one) { return one.second.size(); });
  const auto oldest = tasks_.find(most->second.front());
  held_.set(held_.bytes() - bytes_of(oldest->first, oldest->second));
  tasks_.erase(oldest);
  most->second.pop_front();
  if (most->second.empty()) order_.erase(most);
}

namespace {

constexpr const char* kAmbiguous = "readers could see different names in params";

// Finds a member like find_clear_member(), in params that may have been read already.
rpc::Member clear_member(const rpc::Envelope& request, std::string_view key,
                         rpc::Member mcp::McpParams::*member, mcp::ParamKey bit,
                         const call::CallContext& context) {
  const auto* const known = static_cast<const mcp::McpParams*>(context.params);
  if (known == nullptr) return rpc::find_clear_member(request.params, key);
  if (known->has_similar(bit)) return tl::unexpected(rpc::MemberError::duplicate);
  return known->*member;
}

// A text that all readers take for the same one; empty: none.
tl::expected<std::string_view, const char*> clear_text(const rpc::Member& member) {
  if (!member && !rpc::is_absent(member)) return tl::unexpected<const char*>(kAmbiguous);
  return member && member->starts_with('"') ? *member : std::string_view();
}

// The decoded text of a quoted name in a request.
std::string_view decoded(std::string_view quoted, std::string& scratch) {
  return rpc::decode_string(rpc::string_content(quoted), scratch);
}

Route malformed(const char* problem) {
  Route route;
  route.kind = Route::Kind::malformed;
  route.problem = problem;
  return route;
}

// A template as literal bytes and wildcards.
struct Piece {
  char literal = 0;
  bool is_wild = false;
  bool crosses = false;  // it may stand for slashes too
};

std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos || end == at + 1) {
      pieces.push_back({text[at]});
      continue;
    }
    const std::string_view expression = text.substr(at + 1, end - at - 1);
    const bool crosses =
        std::string_view("+#./;?&").find(expression.front()) != std::string_view::npos ||
        expression.back() == '*';
    pieces.push_back({0, true, crosses});
    at = end;
  }
  return pieces;
}

bool may_stand(const Piece& wild, char c) {
  return wild.crosses || std::string_view("/?#").find(c) == std::string_view::npos;
}

}  // namespace

void Route::lead_to(std::vector<size_t> members) {
  kind = members.empty() ? Kind::unknown : Kind::member;
  if (members.empty()) return;
  member = members.front();
  others = std::move(members);
  others.erase(others.begin());
}

Route Routes::route_of(const call::Request& request) {
  const auto& [message, method, intent, context] = request;
  if (same_text(method, "tools/call")) return route_of_tool(request);
  if (method == "prompts/get") return route_of_prompt(message, context);
  if (method == "resources/read" || method == "resources/subscribe" ||
      method == "resources/unsubscribe") {
    const auto uri =
        clear_text(clear_member(message, "uri", &mcp::McpParams::uri, mcp::kUriParam, context));
    return uri ? route_of_resource(*uri, context) : malformed(uri.error());
  }
  if (method == "completion/complete") return route_of_completion(message, context);
  if (method.starts_with("tasks/") && method != "tasks/list") {
    return route_of_task(message, context);
  }
  return {};
}

// A list that is still missing may have the name.
void Routes::find_or_open(Route& route, ListKind kind, const call::CallContext& context) {
  const std::string_view name = route.name;
  Found found = answers_.find(kind, name, context);
  if (found.element == nullptr) {
    const bool is_settled = answers_.prepare(kind, context);
    found = answers_.find(kind, name, context);  // it may have come at once
    route.kind = is_settled ? Route::Kind::unknown : Route::Kind::open;
    if (found.element == nullptr) return;
  }
  route.kind = Route::Kind::member;
  route.member = found.place;
  route.own_name = found.element->own;
  if (kind == ListKind::tools) {
    const config::MemberToolsConfig& tools = found.member->config().tools;
    route.tool = renamed(tools, found.element->own);
    if (has_arguments_for(route.tool, tools)) route.tools = &tools;
  }
}

Route Routes::route_of_tool(const call::Request& request) {
  const std::string_view tool = request.intent.tool;
  if (!request.intent.is_clear) return malformed(kAmbiguous);
  Route route;
  route.element = policy::ElementKind::tool;
  route.name = rpc::decode_string(tool, name_);
  if (!tool.empty()) route.name_place = {tool.data() - 1, tool.size() + 2};
  find_or_open(route, ListKind::tools, request.context);
  return route;
}

Route Routes::route_of_prompt(const rpc::Envelope& request, const call::CallContext& context) {
  const auto name =
      clear_text(clear_member(request, "name", &mcp::McpParams::name, mcp::kNameParam, context));
  if (!name) return malformed(name.error());
  Route route;
  route.element = policy::ElementKind::prompt;
  route.name = decoded(*name, name_);
  route.name_place = *name;
  find_or_open(route, ListKind::prompts, context);
  return route;
}

const Member* Routes::missing_member(const Route& route, const call::CallContext& context) {
  const bool is_tool = route.element == policy::ElementKind::tool;
  if (!is_tool && route.element != policy::ElementKind::prompt) return nullptr;
  const ListKind kind = is_tool ? ListKind::tools : ListKind::prompts;
  for (const size_t i : members_.order()) {
    Member& member = *members_[i];
    const std::string& prefix = member.config().prefix;
    if (prefix.empty() || !route.name.starts_with(prefix)) continue;
    MemberView& view = answers_.view_at(i, context);
    if (view.is_refused || !member.is_missing(view, kind)) continue;
    const std::string_view own = route.name.substr(prefix.size());
    if (member.sight_of(context.principal).shows(kind, own)) return &member;
  }
  return nullptr;
}

std::vector<size_t> Routes::members_of(std::string_view uri, const call::CallContext& context) {
  const Found listed = answers_.find(ListKind::resources, uri, context);
  if (listed.element != nullptr) return {listed.place};
  const auto sees = [&](size_t i) {
    Member& member = *members_[i];
    return !answers_.view_at(i, context).is_refused && member.upstream() != nullptr &&
           member.sight_of(context.principal).shows(ListKind::resources, uri) &&
           !excludes_uri(member.config().resources, uri);
  };
  for (const size_t i : members_.order()) {
    if (sees(i) && answers_.view_at(i, context).list(ListKind::tools).elements->names_uri(uri)) {
      return {i};
    }
  }
  const std::optional<size_t> linked = noted(std::string(uri));
  std::vector<size_t> fitting;
  std::vector<size_t> all;
  for (const size_t i : members_.order()) {
    if (!sees(i) || !selects_uri(members_[i]->config().resources, uri)) continue;
    MemberView& view = answers_.view_at(i, context);
    const bool fits =
        std::ranges::any_of(view.list(ListKind::templates).elements->all(),
                            [uri](const Element& one) { return matches_template(one.own, uri); });
    if (fits) fitting.push_back(i);
    const std::string& greeting = view.list(ListKind::greeting).greeting;
    if (!greeting_lacks(greeting, ListKind::resources)) all.push_back(i);
  }
  // A link says who has given it, and nothing against those whose templates fit.
  if (fitting.empty() && linked && sees(*linked)) return {*linked};
  const bool is_any = fitting.empty();
  std::vector<size_t> members = is_any ? std::move(all) : std::move(fitting);
  std::stable_partition(members.begin(), members.end(), [&](size_t i) { return i == linked; });
  if (is_any) {
    std::stable_partition(members.begin(), members.end(),
                          [&](size_t i) { return !members_[i]->has_failed(); });
  }
  return members;
}

bool Routes::is_open(std::string_view uri, const call::CallContext& context) {
  bool is_settled = true;
  for (const ListKind kind : {ListKind::resources, ListKind::templates, ListKind::tools}) {
    is_settled = answers_.prepare(kind, context) && is_settled;
  }
  return !is_settled && answers_.find(ListKind::resources, uri, context).element == nullptr;
}

Route Routes::route_of_resource(std::string_view quoted, const call::CallContext& context) {
  Route route;
  route.element = policy::ElementKind::resource;
  route.name = decoded(quoted, name_);
  if (is_open(route.name, context)) {
    route.kind = Route::Kind::open;
  } else {
    route.lead_to(members_of(route.name, context));
  }
  return route;
}

Route Routes::route_of_completion(const rpc::Envelope& request, const call::CallContext& context) {
  const auto ref = rpc::find_clear_member(request.params, "ref");
  if (!ref && !rpc::is_absent(ref)) return malformed(kAmbiguous);
  const auto type = clear_text(rpc::find_clear_member(ref.value_or("{}"), "type"));
  if (!type) return malformed(type.error());
  const bool is_prompt = *type == R"("ref/prompt")";
  const auto name =
      clear_text(rpc::find_clear_member(ref.value_or("{}"), is_prompt ? "name" : "uri"));
  if (!name) return malformed(name.error());
  Route route;
  route.element = is_prompt ? policy::ElementKind::prompt : policy::ElementKind::resource;
  route.name = decoded(*name, name_);
  if (is_prompt) {
    route.name_place = *name;
    find_or_open(route, ListKind::prompts, context);
    return route;
  }
  find_or_open(route, ListKind::templates, context);
  if (route.kind != Route::Kind::unknown) return route;
  return route_of_resource(*name, context);
}

Route Routes::route_of_task(const rpc::Envelope& request, const call::CallContext& context) {
  const auto id = clear_text(
      clear_member(request, "taskId", &mcp::McpParams::task_id, mcp::kTaskIdParam, context));
  if (!id) return malformed(id.error());
  Route route;
  route.name = decoded(*id, name_);
  if (const auto giver = giver_of(request, context)) {
    route.lead_to({*giver});
    return route;
  }
  const TaskNames::Task* const task = tasks_.find(TaskNames::owner_of(context), route.name);
  if (task == nullptr) return malformed("Task not found");
  route.lead_to({task->member});
  route.name_place = *id;
  route.own_name = task->own;
  return route;
}

// A member that seals ids recognises its own.
std::optional<size_t> Routes::giver_of(const rpc::Envelope& request,
                                       const call::CallContext& context) {
  for (const size_t i : members_.order()) {
    const backend::Upstream* const upstream = members_[i]->upstream();
    if (upstream != nullptr && upstream->gave(request, context)) return i;
  }
  return std::nullopt;
}

std::optional<Routes::TaskPlace> Routes::member_of_task(const std::string& id,
                                                        const call::CallContext& context) {
  const rpc::KnownMessage question(
      rpc::request_text(0, "tasks/get", R"({"taskId":)" + json_text(id) + "}"));
  if (const auto giver = giver_of(question.envelope(), context)) return TaskPlace{*giver, id};
  const TaskNames::Task* const task = tasks_.find(TaskNames::owner_of(context), id);
  if (task == nullptr) return std::nullopt;
  return TaskPlace{task->member, task->own};
}

// --- What results name ---------------------------------------------------------------------------

void Routes::note_result(size_t member, const call::Call& call, std::string_view result) {
  const bool may_link =
      same_text(call.method_name, "tools/call") || same_text(call.method_name, "prompts/get");
  // A search stops at each occurrence of the first letter, and quotes are frequent.
  if (!may_link || result.find("uri\"") == std::string_view::npos) return;
  std::string scratch;
  const auto note_block = [&](std::string_view block) {
    for (const std::string_view object : {block, rpc::member_or_empty(block, "resource")}) {
      const std::string_view uri = rpc::member_or_empty(object, "uri");
      if (uri.starts_with('"')) note(std::string(decoded(uri, scratch)), member);
    }
  };
  for_each_element(rpc::member_or_empty(result, "content"), note_block);
  for_each_element(rpc::member_or_empty(result, "messages"), [&](std::string_view message) {
    note_block(rpc::member_or_empty(message, "content"));
  });
}

void Routes::note(std::string key, size_t member) {
  if (key.size() > kMaxNotedName) return;
  const auto [place, is_new] = noted_.emplace(key, member);
  if (!is_new) {
    place->second = member;
    return;
  }
  held_.add(2 * key.size());
  order_.push_back(std::move(key));
  if (order_.size() <= kMaxNoted) return;
  noted_.erase(order_.front());
  held_.set(held_.bytes() - 2 * order_.front().size());
  order_.pop_front();
}

std::optional<size_t> Routes::noted(const std::string& key) const {
  const auto found = noted_.find(key);
  return found == noted_.end() ? std::nullopt : std::optional(found->second);
}

// The places of the pattern that the text so far leads to, as bits of a row.
bool matches_template(std::string_view uri_template, std::string_view uri) {
  const std::vector<Piece> pieces = pieces_of(uri_template);
  std::vector<bool> here(pieces.size() + 1);
  const auto pass_wild = [&pieces](std::vector<bool>& row) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (row[i] && pieces[i].is_wild) row[i + 1] = true;
    }
  };
  here[0] = true;
  pass_wild(here);
  for (const char c : uri) {
    std::vector<bool> next(pieces.size() + 1);
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (!here[i]) continue;
      if (pieces[i].is_wild) {
        if (may_stand(pieces[i], c)) next[i] = true;
      } else if (pieces[i].literal == c) {
        next[i + 1] = true;
      }
    }
    pass_wild(next);
    here.swap(next);
  }
  return here[pieces.size()];
}

}  // namespace stdgate::servers
