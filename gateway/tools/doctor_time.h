// DoctorTime: the time that an examination has in all.
//
// Job: give each step as much time as is left, and say afterwards what was waited for if that was
// too little. Owner: the doctor. The end of a process has a bound of its own. Limit: a step that is
// begun has at least kLeast.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/tools/findings.h"

namespace stdgate::tools {

// The outcome of a question that was waited for in vain.
inline constexpr std::string_view kNoAnswer = "no answer";

// One thing that was tried, and how long it took.
struct Step {
  std::string name;
  Duration took{0};
  bool is_ok = false;
  std::string outcome{};  // for people: "5 tools"
};

class DoctorTime {
 public:
  static constexpr Duration kLeast = std::chrono::seconds(5);

  // Begins now.
  DoctorTime(const Clock& clock, Duration whole)
      : clock_(clock), whole_(whole), until_(clock.now() + whole) {}

  // For a step that would have this long.
  [[nodiscard]] Duration left(Duration wanted) const;
  // Whether no further attempt may begin.
  [[nodiscard]] bool is_over() const { return clock_.now() >= until_; }
  // What was waited for, if the time is over.
  [[nodiscard]] std::optional<Finding> shortage(const std::vector<Step>& steps) const;

 private:
  const Clock& clock_;
  const Duration whole_;
  const TimePoint until_;
};

}  // namespace stdgate::tools
