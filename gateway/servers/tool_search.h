// ToolSearch: which tools fit some words best (BM25 over their names, titles, descriptions and the
// names of their arguments).
//
// One index for all clients; whoever asks is shown what he may use. Owner: ServerAnswers, which
// makes it anew when lists have changed. Limits: those of the lists; kMaxQuery words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stdgate::servers {

// The two tools that stand for all others.
inline constexpr std::string_view kFindTool = "find_tool";
inline constexpr std::string_view kCallTool = "call_tool";
// As they are listed, raw JSON.
std::string_view find_tool_text();
std::string_view call_tool_text();

class ToolSearch {
 public:
  static constexpr size_t kMaxQuery = 64;

  // A tool, raw JSON, under its name.
  void add(const std::string& name, std::string_view tool);
  // Names, best first.
  [[nodiscard]] std::vector<std::string> find(std::string_view query) const;

 private:
  struct Posting {
    size_t tool;
    double weight;  // how often, names counting more
  };

  std::vector<std::string> names_;
  std::vector<double> lengths_;
  double total_length_ = 0;
  std::unordered_map<std::string, std::vector<Posting>> words_;
};

}  // namespace stdgate::servers
