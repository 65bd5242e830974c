#include "gateway/mcp/param_headers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "gateway/base/text.h"
#include "gateway/mcp/modern_request.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::mcp {

namespace {

using rpc::MemberError;

constexpr std::string_view kMark = "x-mcp-header";
// The largest integer that every reader of JSON can tell from its neighbours.
constexpr double kMaxInteger = 9007199254740991;

// A key can be spelled with escapes.
bool may_hold_mark(std::string_view raw) {
  return raw.find(kMark) != std::string_view::npos || raw.find("\\u") != std::string_view::npos;
}

std::string_view text_of(std::string_view raw, std::string& scratch) {
  if (raw.size() < 2 || raw.front() != '"') return {};
  return rpc::decode_string(raw.substr(1, raw.size() - 2), scratch);
}

bool is_same_name(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, lower_ascii, lower_ascii);
}

// Collects the marks of one schema.
class Marks {
 public:
  explicit Marks(std::vector<MarkedArgument>& found) : found_(found) {}

  // False: a mark breaks the rules.
  bool read(std::string_view schema) {
    if (!may_hold_mark(schema)) return true;
    const auto properties = rpc::find_member(schema, "properties");
    if (!properties) return properties.error() == MemberError::absent;
    rpc::JsonCursor cursor(*properties);
    if (!cursor.take('{') || cursor.take('}') || path_.size() == kMaxPath) return true;
    do {
      path_.emplace_back(text_of(cursor.take_string(), scratch_));
      cursor.take(':');
      const std::string_view property = cursor.take_value();
      if (!read_property(property) || !read(property)) return false;
      path_.pop_back();
    } while (cursor.take(','));
    return true;
  }

 private:
  bool read_property(std::string_view property) {
    const auto mark = rpc::find_member(property, kMark);
    if (!mark) return mark.error() == MemberError::absent;
    const std::string name(text_of(*mark, scratch_));
    const std::string_view type = text_of(rpc::member_or_empty(property, "type"), scratch_);
    const bool is_primitive = type == "string" || type == "integer" || type == "boolean";
    const auto is_taken = [&](const MarkedArgument& other) {
      return is_same_name(other.field, name);
    };
    if (!is_token(name) || !is_primitive || found_.size() == kMaxMarks ||
        std::ranges::any_of(found_, is_taken)) {
      return false;
    }
    found_.push_back({name, path_});
    return true;
  }

  std::vector<MarkedArgument>& found_;
  std::vector<std::string> path_;
  std::string scratch_;
};

std::optional<double> number_of(std::string_view text) {
  const bool is_begun = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')) &&
                        text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
  if (!is_begun) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// `raw`: the value of an argument, not null.
bool says_the_same(std::string_view raw, std::string_view field) {
  if (raw.front() == '"') return rpc::json_string_equals(raw.substr(1, raw.size() - 2), field);
  if (raw == field) return raw.front() != '{' && raw.front() != '[';
  const auto number = number_of(raw);
  return number && number == number_of(field) && std::abs(*number) <= kMaxInteger;
}

struct Field {
  std::optional<std::string_view> value;
  bool repeated = false;
};

Field find_field(std::string_view fields, std::string_view name) {
  Field found;
  while (!fields.empty()) {
    const std::string_view line = fields.substr(0, fields.find('\n'));
    fields.remove_prefix(std::min(fields.size(), line.size() + 1));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_same_name(line.substr(0, colon), name)) continue;
    found.repeated = found.value.has_value();
    found.value = line.substr(colon + 1);
  }
  return found;
}

// The value at the path; empty: there is no such value. Nothing: readers could see different
// values.
std::optional<std::string_view> value_at(std::string_view object,
                                         const std::vector<std::string>& path) {
  for (const std::string& key : path) {
    const auto next = rpc::find_member(object, key);
    if (!next && next.error() == MemberError::duplicate) return std::nullopt;
    object = next.value_or(std::string_view());
  }
  return object == "null" ? std::string_view() : object;
}

const char* compare(std::string_view raw, const Field& field) {
  if (field.repeated) return " is there twice";
  if (!field.value) return raw.empty() ? nullptr : " is missing";
  std::string scratch;
  const auto text = decode_header(*field.value, scratch);
  if (!text) return " has characters that it must not have";
  if (raw.empty()) return " repeats an argument that the body does not have";
  return says_the_same(raw, *text) ? nullptr : " is not what the body says";
}

}  // namespace

bool may_mark(const rpc::Envelope& answer) { return may_hold_mark(answer.payload); }

std::optional<ToolPage> read_tool_page(const rpc::Envelope& answer) {
  if (answer.kind != rpc::MessageKind::result) return std::nullopt;
  ToolPage page;
  rpc::JsonCursor cursor(rpc::member_or_empty(answer.payload, "tools"));
  if (!cursor.take('[')) return std::nullopt;
  std::string scratch;
  if (!cursor.take(']')) {
    do {
      const std::string_view text = cursor.take_value();
      MarkedTool tool;
      tool.name = text_of(rpc::member_or_empty(text, "name"), scratch);
      if (tool.name.empty()) continue;
      Marks marks(tool.arguments);
      if (!marks.read(rpc::member_or_empty(text, "inputSchema"))) tool.arguments.clear();
      page.tools.push_back(std::move(tool));
    } while (cursor.take(','));
  }
  const std::string_view next = rpc::member_or_empty(answer.payload, "nextCursor");
  if (next.starts_with('"')) page.cursor = next;
  return page;
}

std::string_view called_tool(const rpc::Envelope& request, std::string& scratch) {
  if (!rpc::json_string_equals(request.method, "tools/call")) return {};
  return text_of(rpc::member_or_empty(request.params, "name"), scratch);
}

std::optional<std::string> header_mismatch(const MarkedTool& tool, const rpc::Envelope& request,
                                           std::string_view fields) {
  const auto arguments = rpc::find_member(request.params, "arguments");
  const std::string_view object = arguments.value_or(std::string_view());
  const bool is_clear = arguments || arguments.error() == MemberError::absent;
  for (const MarkedArgument& argument : tool.arguments) {
    const auto raw = is_clear ? value_at(object, argument.path) : std::nullopt;
    const char* const why = raw ? compare(*raw, find_field(fields, argument.field))
                                : " repeats an argument that the body has twice";
    if (why != nullptr) return "Header mismatch: Mcp-Param-" + argument.field + why;
  }
  return std::nullopt;
}

}  // namespace stdgate::mcp
