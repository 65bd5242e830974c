#include "gateway/servers/routes.h"

#include <algorithm>
#include <utility>

#include "gateway/mcp/mcp_elements.h"
#include "gateway/policy/name_pattern.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"
#include "gateway/servers/text_edits.h"
#include "gateway/servers/tool_look.h"
#include "gateway/servers/uri_template.h"

namespace stdgate::servers {

namespace {

constexpr const char* kAmbiguous = "readers could see different names in params";

// A text that all readers take for the same one; empty: there is none.
tl::expected<std::string_view, const char*> clear_text(std::string_view object,
                                                       std::string_view key) {
  const auto member = rpc::find_clear_member(object, key);
  if (!member && !rpc::is_absent(member)) return tl::unexpected<const char*>(kAmbiguous);
  return member && member->starts_with('"') ? *member : std::string_view();
}

std::string decoded(std::string_view quoted) {
  std::string scratch;
  return std::string(rpc::decode_string(rpc::string_content(quoted), scratch));
}

Route malformed(const char* problem) {
  Route route;
  route.kind = Route::Kind::malformed;
  route.problem = problem;
  return route;
}

bool is_selected(const config::SelectionConfig& selection, std::string_view uri) {
  return (selection.include.empty() || policy::matches_any(selection.include, uri)) &&
         !policy::matches_any(selection.exclude, uri);
}

}  // namespace

Route Routes::route_of(const rpc::Envelope& request, std::string_view method,
                       const call::CallContext& context) {
  if (method == "tools/call") return route_of_named(request, ListKind::tools, context);
  if (method == "prompts/get") return route_of_named(request, ListKind::prompts, context);
  if (method == "resources/read" || method == "resources/subscribe" ||
      method == "resources/unsubscribe") {
    const auto uri = clear_text(request.params, "uri");
    return uri ? route_of_resource(request, *uri, context) : malformed(uri.error());
  }
  if (method == "completion/complete") return route_of_completion(request, context);
  if (method.starts_with("tasks/")) return route_of_task(request, context);
  return {};
}

// What is not found may come with a list that is not there yet.
Route Routes::found_or_open(Route route, ListKind kind, std::string_view name,
                            const call::CallContext& context) {
  const Found found = answers_.find(kind, name, context);
  if (found.element == nullptr) {
    const bool is_settled = answers_.prepare(kind, context);
    route.kind = is_settled ? Route::Kind::unknown : Route::Kind::open;
    return route;
  }
  route.kind = Route::Kind::member;
  route.members = {found.place};
  route.own_name = found.element->own;
  if (kind == ListKind::tools) {
    const config::MemberToolsConfig& tools = found.member->config().tools;
    const std::string_view tool = renamed(tools, found.element->own);
    if (has_arguments_for(tool, tools)) {
      route.tools = &tools;
      route.tool = tool;
    }
  }
  return route;
}

Route Routes::route_of_named(const rpc::Envelope& request, ListKind kind,
                             const call::CallContext& context) {
  const auto name = clear_text(request.params, "name");
  if (!name) return malformed(name.error());
  const auto arguments = rpc::find_clear_member(request.params, "arguments");
  if (!arguments && !rpc::is_absent(arguments)) return malformed(kAmbiguous);
  Route route;
  route.element = shape_of(kind).kind;
  route.name = decoded(*name);
  route.name_place = *name;
  return found_or_open(std::move(route), kind, decoded(*name), context);
}

std::vector<size_t> Routes::members_of(std::string_view uri, const call::CallContext& context) {
  const Found listed = answers_.find(ListKind::resources, uri, context);
  if (listed.element != nullptr) return {listed.place};
  const auto sees = [&](size_t i) {
    Member& member = *members_[i];
    return !answers_.view_at(i, context).is_refused && member.upstream() != nullptr &&
           member.sight_of(context.principal).shows(ListKind::resources, uri) &&
           !policy::matches_any(member.config().resources.exclude, uri);
  };
  if (const auto noted_at = noted("u", uri); noted_at && sees(*noted_at)) return {*noted_at};
  for (size_t i = 0; i < members_.size(); ++i) {
    if (sees(i) && answers_.view_at(i, context).list(ListKind::tools).elements.names_uri(uri)) {
      return {i};
    }
  }
  std::vector<size_t> members;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (!sees(i) || !is_selected(members_[i]->config().resources, uri)) continue;
    const auto& templates = answers_.view_at(i, context).list(ListKind::templates).elements.all();
    const bool fits = std::ranges::any_of(
        templates, [uri](const Element& one) { return matches_template(one.own, uri); });
    if (fits) members.push_back(i);
  }
  if (!members.empty()) return members;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (sees(i) && is_selected(members_[i]->config().resources, uri)) members.push_back(i);
  }
  return members;
}

Route Routes::route_of_resource(const rpc::Envelope& /*request*/, std::string_view quoted,
                                const call::CallContext& context) {
  Route route;
  route.element = policy::ElementKind::resource;
  route.name = decoded(quoted);
  bool is_settled = answers_.prepare(ListKind::resources, context);
  is_settled = answers_.prepare(ListKind::templates, context) && is_settled;
  is_settled = answers_.prepare(ListKind::tools, context) && is_settled;
  const Found listed = answers_.find(ListKind::resources, route.name, context);
  if (listed.element == nullptr && !is_settled) {
    route.kind = Route::Kind::open;
    return route;
  }
  route.members = members_of(route.name, context);
  route.kind = route.members.empty() ? Route::Kind::unknown : Route::Kind::member;
  return route;
}

Route Routes::route_of_completion(const rpc::Envelope& request, const call::CallContext& context) {
  const auto ref = rpc::find_clear_member(request.params, "ref");
  if (!ref && !rpc::is_absent(ref)) return malformed(kAmbiguous);
  const auto type = clear_text(ref.value_or("{}"), "type");
  if (!type) return malformed(type.error());
  const bool is_prompt = *type == R"("ref/prompt")";
  const auto name = clear_text(ref.value_or("{}"), is_prompt ? "name" : "uri");
  if (!name) return malformed(name.error());
  Route route;
  route.element = is_prompt ? policy::ElementKind::prompt : policy::ElementKind::resource;
  route.name = decoded(*name);
  if (is_prompt) {
    route.name_place = *name;
    return found_or_open(std::move(route), ListKind::prompts, decoded(*name), context);
  }
  const std::string uri = route.name;
  route = found_or_open(std::move(route), ListKind::templates, uri, context);
  if (route.kind != Route::Kind::unknown) return route;
  return route_of_resource(request, *name, context);
}

// Who has given it away: this process knows, or the member itself does.
Route Routes::route_of_task(const rpc::Envelope& request, const call::CallContext& context) {
  const auto id = clear_text(request.params, "taskId");
  if (!id) return malformed(id.error());
  Route route;
  if (const auto member = noted("t", decoded(*id))) {
    route.members = {*member};
  } else {
    for (size_t i = 0; i < members_.size() && route.members.empty(); ++i) {
      const backend::Upstream* const upstream = members_[i]->upstream();
      if (upstream != nullptr && upstream->gave(request, context)) route.members = {i};
    }
  }
  if (!route.members.empty()) {
    route.kind = Route::Kind::member;
    return route;
  }
  route.element = policy::ElementKind::none;
  route.kind = Route::Kind::malformed;
  route.problem = "Task not found";
  return route;
}

// --- What results name ---------------------------------------------------------------------------

void Routes::note_result(size_t member, std::string_view method, std::string_view result) {
  if (result.find("taskId\"") != std::string_view::npos) {
    for (const std::string_view object : {result, rpc::member_or_empty(result, "task")}) {
      const std::string_view id = rpc::member_or_empty(object, "taskId");
      if (id.starts_with('"')) note("t", decoded(id), member);
    }
    for_each_element(rpc::member_or_empty(result, "tasks"), [&](std::string_view task) {
      const std::string_view id = rpc::member_or_empty(task, "taskId");
      if (id.starts_with('"')) note("t", decoded(id), member);
    });
  }
  const bool may_link = method == "tools/call" || method == "prompts/get";
  if (!may_link || result.find("\"resource") == std::string_view::npos) return;
  const auto note_block = [&](std::string_view block) {
    for (const std::string_view object : {block, rpc::member_or_empty(block, "resource")}) {
      const std::string_view uri = rpc::member_or_empty(object, "uri");
      if (uri.starts_with('"')) note_link(member, decoded(uri));
    }
  };
  for_each_element(rpc::member_or_empty(result, "content"), note_block);
  for_each_element(rpc::member_or_empty(result, "messages"), [&](std::string_view message) {
    note_block(rpc::member_or_empty(message, "content"));
  });
}

void Routes::note(std::string_view kind, std::string_view name, size_t member) {
  std::string key(kind);
  key.append(name);
  const auto [place, is_new] = noted_.emplace(key, member);
  if (!is_new) {
    place->second = member;
    return;
  }
  order_.push_back(std::move(key));
  if (order_.size() <= kMaxNoted) return;
  noted_.erase(order_.front());
  order_.pop_front();
}

std::optional<size_t> Routes::noted(std::string_view kind, std::string_view name) const {
  std::string key(kind);
  const auto found = noted_.find(key.append(name));
  return found == noted_.end() ? std::nullopt : std::optional(found->second);
}

std::string request_for_member(const rpc::Envelope& request, const Route& route, session::Tag tag,
                               std::span<const call::Insertion> insertions) {
  TextEdits edits(request.text);
  edits.replace(request.id, std::to_string(tag));
  if (!route.name_place.empty()) edits.replace(route.name_place, json_text(route.own_name));
  if (route.tools != nullptr) {
    const auto arguments = rpc::find_member(request.params, "arguments");
    std::string filled =
        arguments_for_member(arguments.value_or(std::string_view()), route.tool, *route.tools);
    if (arguments) {
      edits.replace(*arguments, std::move(filled));
    } else {
      edits.insert(request.params.data() + 1, "\"arguments\":" + filled + ",");
    }
  }
  for (const call::Insertion& insertion : insertions) edits.insert(insertion);
  return edits.apply();
}

}  // namespace stdgate::servers
