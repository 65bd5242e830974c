#include "gateway/mcp/mcp_elements.h"

#include <algorithm>
#include <array>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::mcp {

namespace {

using policy::ElementKind;

constexpr std::string_view kCallTool = "tools/call";
constexpr std::string_view kReadResource = "resources/read";
constexpr std::string_view kGetPrompt = "prompts/get";
constexpr std::string_view kComplete = "completion/complete";
constexpr std::string_view kListen = "subscriptions/listen";

// A method whose params name an element.
struct Use {
  std::string_view method;
  ElementKind kind;
  std::string_view key;
  std::string_view use;
};
constexpr std::array<Use, 5> kUses{{
    {kCallTool, ElementKind::tool, "name", kCallTool},
    {kReadResource, ElementKind::resource, "uri", kReadResource},
    {"resources/subscribe", ElementKind::resource, "uri", kReadResource},
    {"resources/unsubscribe", ElementKind::resource, "uri", kReadResource},
    {kGetPrompt, ElementKind::prompt, "name", kGetPrompt},
}};

struct List {
  std::string_view method;
  call::ListShape shape;
};
constexpr std::string_view kScope = "cacheScope";
constexpr std::string_view kPrivate = R"("private")";
constexpr std::array<List, 4> kLists{{
    {"tools/list", {ElementKind::tool, "tools", "name", kCallTool, kScope, kPrivate}},
    {"resources/list",
     {ElementKind::resource, "resources", "uri", kReadResource, kScope, kPrivate}},
    {"resources/templates/list",
     {ElementKind::resource, "resourceTemplates", "uriTemplate", kReadResource, kScope, kPrivate}},
    {"prompts/list", {ElementKind::prompt, "prompts", "name", kGetPrompt, kScope, kPrivate}},
}};

// Raw; empty when the member is absent.
tl::expected<std::string_view, const char*> clear_member(std::string_view object,
                                                         std::string_view key) {
  const auto member = rpc::find_clear_member(object, key);
  if (!member && member.error() == rpc::MemberError::duplicate) {
    return tl::unexpected<const char*>("readers could see different names in params");
  }
  return member.value_or(std::string_view());
}

// The text between the quotes; empty when the member is absent or no string.
tl::expected<std::string_view, const char*> clear_string(std::string_view object,
                                                         std::string_view key) {
  const auto member = clear_member(object, key);
  if (!member) return member;
  return member->starts_with('"') ? member->substr(1, member->size() - 2) : std::string_view();
}

// The resources in {"notifications": {"resourceSubscriptions": [uri, …], …}}.
tl::expected<call::UsedElement, const char*> watched_resources(std::string_view params) {
  const auto asked = clear_member(params, "notifications");
  if (!asked) return tl::unexpected(asked.error());
  const auto uris = clear_member(*asked, "resourceSubscriptions");
  if (!uris) return tl::unexpected(uris.error());
  if (uris->empty()) return call::UsedElement();
  return call::UsedElement{ElementKind::resource, {}, kReadResource, *uris};
}

// The element whose arguments are completed: {"ref": {"type": "ref/prompt", "name": …}, …}, or
// "ref/resource" and "uri".
tl::expected<call::UsedElement, const char*> completed_element(std::string_view params) {
  const auto ref = clear_member(params, "ref");
  if (!ref) return tl::unexpected(ref.error());
  const auto type = clear_string(*ref, "type");
  if (!type) return tl::unexpected(type.error());
  const bool is_prompt = rpc::json_string_equals(*type, "ref/prompt");
  const auto name = clear_string(*ref, is_prompt ? "name" : "uri");
  if (!name) return tl::unexpected(name.error());
  // A type that MCP does not define counts as a resource without a name.
  if (is_prompt) return call::UsedElement{ElementKind::prompt, *name, kGetPrompt};
  const bool is_resource = rpc::json_string_equals(*type, "ref/resource");
  return call::UsedElement{ElementKind::resource, is_resource ? *name : "", kReadResource};
}

}  // namespace

tl::expected<call::UsedElement, const char*> used_element(const rpc::Envelope& message,
                                                          std::string_view method) {
  if (method == kComplete) return completed_element(message.params);
  if (method == kListen) return watched_resources(message.params);
  const auto* const use = std::ranges::find(kUses, method, &Use::method);
  if (use == kUses.end()) return call::UsedElement();
  const auto name = clear_string(message.params, use->key);
  if (!name) return tl::unexpected(name.error());
  return call::UsedElement{use->kind, *name, use->use};
}

const call::ListShape* list_shape(std::string_view method) {
  const auto* const list = std::ranges::find(kLists, method, &List::method);
  return list == kLists.end() ? nullptr : &list->shape;
}

call::Absence absence(std::string_view method, ElementKind kind, std::string_view name,
                      PeerKind of_client) {
  const auto named = [name](std::string_view what) { return std::string(what).append(name); };
  const bool is_named = !name.empty() || kind == ElementKind::resource;
  if (!is_named && kind != ElementKind::none && method != kComplete) {
    const bool is_tool = kind == ElementKind::tool;
    return {rpc::RpcError::invalid_params, is_tool ? "params.name is missing: the tool to call"
                                                   : "params.name is missing: the prompt to get"};
  }
  switch (kind) {
    case ElementKind::tool:
      return {rpc::RpcError::invalid_params, named("Unknown tool: ")};
    case ElementKind::prompt:
      return {rpc::RpcError::invalid_params, named("Unknown prompt: ")};
    case ElementKind::resource: {
      if (method == kComplete) return {rpc::RpcError::invalid_params, named("Unknown resource: ")};
      std::string data = R"({"uri":)";
      rpc::append_json_string(data, name);
      const bool is_modern = of_client == PeerKind::stateless;
      return {is_modern ? rpc::RpcError::invalid_params : rpc::RpcError::resource_not_found,
              "Resource not found", data + "}"};
    }
    case ElementKind::none:
      break;
  }
  return {};
}

}  // namespace stdgate::mcp
