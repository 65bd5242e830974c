#include "gateway/servers/tool_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "gateway/config/config_ranges.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/servers/server_messages.h"

namespace stdgate::servers {

namespace {

// Of BM25, as usual.
constexpr double kSaturation = 1.2;
constexpr double kLengthPart = 0.75;
// A word of the name says more than one of a description.
constexpr double kOfName = 3;
constexpr double kOfTitle = 2;
constexpr double kOfText = 1;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_word(char c) {
  return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}

// A plural and its singular are the same word.
void cut_to_stem(std::string& word) {
  if (word.size() > 3 && word.ends_with("ies")) {
    word.replace(word.size() - 3, 3, "y");
  } else if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) {
    word.pop_back();
  }
}

// Lower case; words end where letters do, and where lower case turns into upper case.
template <class Visitor>
void for_each_word(std::string_view text, Visitor&& visit) {
  std::string word;
  char former = 0;
  const auto end = [&] {
    if (word.empty()) return;
    cut_to_stem(word);
    visit(word);
    word.clear();
  };
  for (const char c : text) {
    if (!is_word(c) || (is_upper(c) && is_word(former) && !is_upper(former))) end();
    if (is_word(c)) word += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    former = c;
  }
  end();
}

std::string text_of(std::string_view object, std::string_view key) {
  std::string scratch;
  return std::string(
      rpc::decode_string(rpc::string_content(rpc::member_or_empty(object, key)), scratch));
}

}  // namespace

std::string_view find_tool_text() {
  return R"({"name":"find_tool","title":"Find a tool","description":"Finds tools of this server by )"
         R"(what they do. Gives their names, descriptions and arguments, best first; use them with )"
         R"(call_tool.","inputSchema":{"type":"object","properties":{"query":{"type":"string",)"
         R"("description":"what the tool should do, in some words"},"limit":{"type":"integer",)"
         R"("minimum":1,"maximum":50,"default":5}},"required":["query"]},)"
         R"("annotations":{"readOnlyHint":true}})";
}

std::string_view call_tool_text() {
  return R"({"name":"call_tool","title":"Call a tool","description":"Calls a tool that find_tool )"
         R"(has found.","inputSchema":{"type":"object","properties":{"name":{"type":"string",)"
         R"("description":"as find_tool gives it"},"arguments":{"type":"object","description":)"
         R"("as its inputSchema says"}},"required":["name"]}})";
}

void ToolSearch::cover(std::span<const ElementList* const> lists) {
  size_t more = 0;
  for (const ElementList* const list : lists) {
    if (!covered_.contains(list->digest())) more += list->all().size();
  }
  if (more == 0) return;
  if (tools_.size() + more > kMaxTools) *this = ToolSearch();
  for (const ElementList* const list : lists) {
    if (!covered_.insert(list->digest()).second) continue;
    for (const Element& tool : list->all()) add(tool.shown, tool.text);
  }
}

void ToolSearch::add(const std::string& name, std::string_view tool) {
  constexpr size_t kOfTool = 128;
  constexpr size_t kOfWord = 48;
  const uint64_t version = version_of(tool);
  if (!versions_.insert(version ^ std::hash<std::string>()(name)).second) return;
  size_t left = kMaxText;
  double length = 0;
  const auto note = [&](std::string_view text, double weight) {
    text = text.substr(0, left);
    left -= text.size();
    for_each_word(text, [&](const std::string& word) {
      std::vector<Posting>& postings = words_[word];
      if (postings.empty() || postings.back().tool != tools_.size()) {
        postings.push_back({tools_.size(), 0});
        bytes_ += kOfWord;
      }
      postings.back().weight += weight;
      length += 1;
    });
  };
  note(name, kOfName);
  note(text_of(tool, "title"), kOfTitle);
  note(text_of(tool, "description"), kOfText);
  std::string scratch;
  rpc::for_each_member(
      rpc::member_or_empty(rpc::member_or_empty(tool, "inputSchema"), "properties"),
      [&](std::string_view key, std::string_view) {
        note(rpc::decode_string(key, scratch), kOfText);
      });
  bytes_ += kOfTool + name.size();
  tools_.push_back({name, version});
  lengths_.push_back(length);
  total_length_ += length;
}

std::vector<const ToolSearch::Tool*> ToolSearch::find(std::string_view query) const {
  std::vector<std::pair<double, size_t>> scores(tools_.size());
  for (size_t i = 0; i < scores.size(); ++i) scores[i].second = i;
  const auto count = static_cast<double>(tools_.size());
  const double average = tools_.empty() ? 1 : total_length_ / count;
  size_t words = 0;
  for_each_word(query, [&](const std::string& word) {
    const auto found = words_.find(word);
    if (++words > kMaxQuery || found == words_.end()) return;
    const auto documents = static_cast<double>(found->second.size());
    const double rarity = std::log(1 + (count - documents + 0.5) / (documents + 0.5));
    for (const Posting& posting : found->second) {
      const double norm =
          kSaturation * (1 - kLengthPart + kLengthPart * lengths_[posting.tool] / average);
      scores[posting.tool].first +=
          rarity * posting.weight * (kSaturation + 1) / (posting.weight + norm);
    }
  });
  std::erase_if(scores, [](const auto& score) { return score.first <= 0; });
  std::ranges::stable_sort(scores, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const Tool*> found;
  found.reserve(scores.size());
  for (const auto& [score, tool] : scores) found.push_back(&tools_[tool]);
  return found;
}

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
