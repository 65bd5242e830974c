#include "gateway/mcp/mcp_params.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::mcp {

namespace {

struct NamedMember {
  std::string_view key;
  rpc::Member* member;
};

// False: the key is not wanted.
bool note(std::span<const NamedMember> wanted, std::string_view quoted, std::string_view value) {
  const std::string_view raw = quoted.substr(1, quoted.size() - 2);
  const bool is_plain = !rpc::has_escapes(raw);
  for (const auto& [key, member] : wanted) {
    if (is_plain ? raw != key : !rpc::json_string_equals(raw, key)) continue;
    *member =
        rpc::is_absent(*member) ? rpc::Member(value) : tl::unexpected(rpc::MemberError::duplicate);
    return true;
  }
  return false;
}

McpMeta read_meta(std::string_view meta) {
  McpMeta read;
  const std::array<NamedMember, 6> wanted = {{{kVersionKey, &read.version},
                                              {kClientCapabilitiesKey, &read.capabilities},
                                              {kClientInfoKey, &read.client_info},
                                              {kLogLevelKey, &read.log_level},
                                              {"progressToken", &read.progress_token},
                                              {kRelatedTaskKey, &read.related_task}}};
  rpc::JsonCursor cursor(meta);
  if (!cursor.take('{') || cursor.take('}')) return read;
  do {
    const std::string_view key = cursor.take_string();
    cursor.take(':');
    if (note(wanted, key, cursor.take_value())) continue;
    const std::string_view raw = key.substr(1, key.size() - 2);
    if (rpc::json_string_resembles(raw, kRelatedTaskKey)) read.has_similar_keys = true;
  } while (cursor.take(','));
  return read;
}

// Reads one member of params after the other.
class ParamReader {
 public:
  explicit ParamReader(McpParams& read) : read_(read) {}

  void note(std::string_view raw, std::string_view value) {
    const Key& key = key_of(raw.size());
    const bool is_of_size = key.bit != kNoParam;
    if (is_of_size && std::memcmp(raw.data(), key.name.data(), raw.size()) == 0) {
      return keep(key, value);
    }
    // Nothing of another size, without escapes and in ASCII, is or resembles one of the keys.
    const bool is_plain = std::ranges::none_of(
        raw, [](char c) { return c == '\\' || static_cast<unsigned char>(c) >= 0x80; });
    if (is_plain && !is_of_size) return;
    for (const Key& other : kKeys) {
      if (rpc::json_string_equals(raw, other.name)) return keep(other, value);
      if (rpc::json_string_resembles(raw, other.name)) read_.similar |= other.bit;
    }
  }

 private:
  struct Key {
    std::string_view name;
    rpc::Member McpParams::*member;
    ParamKey bit;
  };
  static constexpr std::array<Key, 7> kKeys = {
      {{kMetaKey, &McpParams::meta, kMetaParam},
       {"name", &McpParams::name, kNameParam},
       {"arguments", &McpParams::arguments, kArgumentsParam},
       {"uri", &McpParams::uri, kUriParam},
       {"taskId", &McpParams::task_id, kTaskIdParam},
       {"requestState", &McpParams::request_state, kStateParam},
       {"inputResponses", &McpParams::input_responses, kResponsesParam}}};
  static constexpr size_t kLongest = 14;
  // Each key at the size of its name; no two have the same size.
  static constexpr std::array<Key, kLongest + 1> kBySize = [] {
    std::array<Key, kLongest + 1> keys{};
    for (const Key& key : kKeys) keys[key.name.size()] = key;
    return keys;
  }();
  // kNoParam: no key has this size.
  static const Key& key_of(size_t size) { return kBySize[size > kLongest ? 0 : size]; }

  void keep(const Key& key, std::string_view value) {
    rpc::Member& member = read_.*key.member;
    member =
        rpc::is_absent(member) ? rpc::Member(value) : tl::unexpected(rpc::MemberError::duplicate);
  }

  McpParams& read_;
};

// `meta`: one that is known, and not scanned.
McpParams read_members(std::string_view params, std::string_view meta) {
  McpParams read;
  ParamReader reader(read);
  rpc::JsonCursor cursor(params);
  if (!cursor.take('{') || cursor.take('}')) return read;
  do {
    const std::string_view key = rpc::string_content(cursor.take_string());
    cursor.take(':');
    const std::string_view known = cursor.take_object(meta);
    reader.note(key, known.empty() ? cursor.take_value() : known);
  } while (cursor.take(','));
  return read;
}

}  // namespace

McpMeta MetaMemory::read(std::string_view meta) {
  if (meta != text_) {
    if (meta.size() > kMaxText || !meta.starts_with('{')) return read_meta(meta);
    text_ = meta;
    read_ = read_meta(text_);
    omissions.reset();
  }
  McpMeta moved = read_;
  for (rpc::Member* const member : {&moved.version, &moved.capabilities, &moved.client_info,
                                    &moved.log_level, &moved.progress_token, &moved.related_task}) {
    if (*member) *member = meta.substr(member->value().data() - text_.data(), (*member)->size());
  }
  return moved;
}

McpParams read_params(std::string_view params, MetaMemory& memory) {
  McpParams read = read_members(params, memory.text());
  if (read.meta) read.of_meta = memory.read(*read.meta);
  return read;
}

McpParams read_params(std::string_view params) {
  McpParams read = read_members(params, {});
  if (read.meta) read.of_meta = read_meta(*read.meta);
  return read;
}

McpParams read_params(std::string_view params, std::span<const rpc::RawMember> noted,
                      MetaMemory* memory) {
  if (noted.empty()) {
    return memory == nullptr ? read_params(params) : read_params(params, *memory);
  }
  McpParams read;
  ParamReader reader(read);
  for (const auto& [key, value] : noted) reader.note(key, value);
  if (!read.meta) return read;
  read.of_meta = memory == nullptr ? read_meta(*read.meta) : memory->read(*read.meta);
  return read;
}

std::string_view first_meta(std::string_view params, const MetaMemory& memory) {
  rpc::JsonCursor cursor(params);
  if (!cursor.take('{') || cursor.take('}')) return {};
  do {
    const std::string_view key = cursor.take_string();
    cursor.take(':');
    const std::string_view known = cursor.take_object(memory.text());
    const std::string_view value = known.empty() ? cursor.take_value() : known;
    if (rpc::json_string_equals(key.substr(1, key.size() - 2), kMetaKey)) return value;
  } while (cursor.take(','));
  return {};
}

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

constexpr call::ListShape shape_of(McpListKind list, ElementKind kind, std::string_view use) {
  const McpListing& listing = listing_of(list);
  return {kind, listing.member, listing.name, use, "cacheScope", R"("private")"};
}
constexpr std::array<call::ListShape, kMcpListings.size()> kShapes = {
    shape_of(McpListKind::tools, ElementKind::tool, kCallTool),
    shape_of(McpListKind::prompts, ElementKind::prompt, kGetPrompt),
    shape_of(McpListKind::resources, ElementKind::resource, kReadResource),
    shape_of(McpListKind::templates, ElementKind::resource, kReadResource)};

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
  const McpListing* const listing = find_listing(method);
  return listing == nullptr ? nullptr : &kShapes[static_cast<size_t>(listing->kind)];
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
