#include "gateway/servers/tool_look.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "gateway/config/config_ranges.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/servers/text_edits.h"

namespace stdgate::servers {

namespace {

constexpr size_t kHash = 9;  // of a name that was shortened, with what separates it

bool is_name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-';
}

// FNV-1a, as hex.
std::string short_hash(std::string_view text) {
  uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  std::string hex;
  for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[hash >> shift & 15U];
  return hex;
}

using Arguments = std::map<std::string, std::string>;

const Arguments& arguments_of(const config::ToolArguments& all, std::string_view name) {
  static const Arguments kNone;
  if (all.empty()) return kNone;
  const auto found = all.find(std::string(name));
  return found == all.end() ? kNone : found->second;
}

std::string_view object_or_empty(std::string_view value) {
  return value.starts_with('{') ? value : std::string_view();
}

// The schema without fixed arguments. An argument with a default is not required.
std::string schema_as_shown(std::string_view schema, const Arguments& fixed,
                            const Arguments& defaults) {
  TextEdits edits(schema);
  const std::string_view properties = rpc::member_or_empty(schema, "properties");
  if (!object_or_empty(properties).empty()) {
    edits.replace(properties, without_members(properties, [&](std::string_view key) {
                    return fixed.contains(std::string(key));
                  }));
  }
  const std::string_view required = rpc::member_or_empty(schema, "required");
  if (required.starts_with('[')) {
    edits.replace(required, without_texts(required, [&](std::string_view text) {
                    const std::string name(text);
                    return fixed.contains(name) || defaults.contains(name);
                  }));
  }
  return edits.apply();
}

}  // namespace

bool may_be_of(std::string_view prefix, std::string_view shown) {
  return shown.starts_with(prefix.substr(0, config::kMaxShownName - kHash));
}

std::string shown_tool_name(std::string_view prefix, std::string_view name) {
  std::string whole = std::string(prefix).append(name);
  if (!whole.empty() && whole.size() <= config::kMaxShownName &&
      std::ranges::all_of(whole, is_name_character)) {
    return whole;
  }
  std::string shown = whole.substr(0, config::kMaxShownName - kHash);
  std::ranges::replace_if(
      shown, [](char c) { return !is_name_character(c); }, '_');
  return shown + "_" + short_hash(whole);
}

std::string_view renamed(const config::MemberToolsConfig& tools, std::string_view own) {
  if (tools.rename.empty()) return own;
  const auto found = tools.rename.find(std::string(own));
  return found == tools.rename.end() ? own : std::string_view(found->second);
}

tl::expected<void, const char*> check_tool(std::string_view tool) {
  const auto schema = rpc::find_member(tool, "inputSchema");
  if (!schema || !schema->starts_with('{')) {
    return tl::unexpected<const char*>("it has no inputSchema that is an object");
  }
  const auto type = rpc::find_member(*schema, "type");
  if (!type || *type != R"("object")") {
    return tl::unexpected<const char*>("its inputSchema is of another type than object");
  }
  const auto properties = rpc::find_member(*schema, "properties");
  if (properties) {
    if (!properties->starts_with('{')) {
      return tl::unexpected<const char*>("the properties of its inputSchema are no object");
    }
    bool good = true;
    rpc::for_each_member(*properties, [&good](std::string_view, std::string_view value) {
      good = good && (value.starts_with('{') || value == "true" || value == "false");
    });
    if (!good) {
      return tl::unexpected<const char*>("a property of its inputSchema is no schema");
    }
  }
  const auto required = rpc::find_member(*schema, "required");
  if (!required) return {};
  bool good = required->starts_with('[');
  for_each_element(*required,
                   [&good](std::string_view value) { good = good && value.starts_with('"'); });
  if (!good) {
    return tl::unexpected<const char*>("what its inputSchema requires is no list of names");
  }
  return {};
}

std::string tool_as_shown(std::string_view tool, std::string_view shown, std::string_view name,
                          const config::MemberToolsConfig& tools) {
  TextEdits edits(tool);
  edits.replace(rpc::member_or_empty(tool, "name"), json_text(shown));
  if (const auto text = tools.describe.find(std::string(name)); text != tools.describe.end()) {
    const auto description = rpc::find_member(tool, "description");
    if (description) {
      edits.replace(*description, json_text(text->second));
    } else {
      edits.insert(tool.data() + 1, "\"description\":" + json_text(text->second) + ",");
    }
  }
  const Arguments& fixed = arguments_of(tools.fix, name);
  const Arguments& defaults = arguments_of(tools.defaults, name);
  if (!fixed.empty() || !defaults.empty()) {
    const std::string_view schema = rpc::member_or_empty(tool, "inputSchema");
    edits.replace(schema, schema_as_shown(schema, fixed, defaults));
  }
  return edits.apply();
}

std::string prompt_as_shown(std::string_view prompt, std::string_view shown) {
  TextEdits edits(prompt);
  edits.replace(rpc::member_or_empty(prompt, "name"), json_text(shown));
  return edits.apply();
}

bool has_arguments_for(std::string_view name, const config::MemberToolsConfig& tools) {
  if (tools.fix.empty() && tools.defaults.empty()) return false;
  return !arguments_of(tools.fix, name).empty() || !arguments_of(tools.defaults, name).empty();
}

// A key that only resembles a fixed one goes too: a member that ignores case could take it.
std::string arguments_for_member(std::string_view arguments, std::string_view name,
                                 const config::MemberToolsConfig& tools) {
  const Arguments& fixed = arguments_of(tools.fix, name);
  const Arguments& defaults = arguments_of(tools.defaults, name);
  std::string out = without_members(
      object_or_empty(arguments).empty() ? "{}" : arguments, [&fixed](std::string_view key) {
        return std::ranges::any_of(fixed, [key](const auto& argument) {
          return key == argument.first ||
                 rpc::json_string_resembles(rpc::string_content(json_text(key)), argument.first);
        });
      });
  for (const auto& [key, value] : defaults) {
    if (rpc::is_absent(rpc::find_member(out, key))) out = with_member(out, key, value);
  }
  for (const auto& [key, value] : fixed) out = with_member(out, key, value);
  return out;
}

std::string missing_argument(std::string_view tool, std::string_view name,
                             const config::MemberToolsConfig& tools) {
  const std::string_view properties =
      rpc::member_or_empty(rpc::member_or_empty(tool, "inputSchema"), "properties");
  for (const config::ToolArguments* const all : {&tools.fix, &tools.defaults}) {
    for (const auto& [key, value] : arguments_of(*all, name)) {
      if (rpc::is_absent(rpc::find_member(properties, key))) return key;
    }
  }
  return {};
}

}  // namespace stdgate::servers
