#include "gateway/servers/tool_search.h"

#include <algorithm>
#include <cmath>

#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/servers/text_edits.h"

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

}  // namespace stdgate::servers
