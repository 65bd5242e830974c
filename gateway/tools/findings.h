// Judges what is wrong with a command by the behaviour of one of its processes. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/tools/conversation.h"
#include "gateway/tools/diagnosis.h"
#include "gateway/tools/package_fetch.h"

namespace stdgate::tools {

struct FindingContext {
  const config::BackendConfig& backend;
  const config::LimitsConfig& limits;
  // Whether the gateway's own environment has a variable.
  std::function<bool(const std::string&)> has_variable;
  std::string_view request;  // the one that was to be answered first
  bool answered = false;     // and was
  bool refused = false;      // by an error, or by a result of another kind
  Duration first_answer{0};  // if it was: from the start on
  Duration timeout{0};       // that it had
  Duration grace{0};
  std::optional<PackageFetch> fetch{};  // what it may have fetched in that time
};

// Above these users notice.
inline constexpr Duration kSlowStart = std::chrono::seconds(5);
inline constexpr size_t kHugeMessage = 1 << 20;

// Of npm, as a finding has it.
inline constexpr std::string_view kAsks =
    "npx asks whether it may install the package, and nobody is there";
inline constexpr std::string_view kDoNotAsk = "write npx -y";

std::vector<Finding> findings_of(const Observations& seen, const FindingContext& context);

// Lines of stderr for a report: what a server says of the doctor's own questions is marked.
std::vector<std::string> lines_shown(const std::vector<std::string>& lines);

// How a process ended that the end of its input had not ended.
std::string forced_end_text(const Observations& seen);

// "exit code 3", "signal 11 (SIGSEGV)"
std::string text_of(const pool::ExitStatus& status);
// "812 ms", "1.3 s"
std::string text_of(Duration duration);

}  // namespace stdgate::tools
