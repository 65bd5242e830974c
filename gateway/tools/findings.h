// What an examination of a server finds, and the time that it has.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/tools/conversation.h"

namespace stdgate::tools {

// Finding: one thing that is wrong with a command, judged by the behaviour of one of its processes.
struct Finding {
  enum class Weight : uint8_t {  // the worst first
    breaks,                      // it does not work behind stdgate
    warning,                     // it works, and users will notice
    note,
  };
  Weight weight = Weight::note;
  std::string_view code;                // for scripts: "noise-on-stdout"
  std::string message;                  // what is wrong, one sentence
  std::string advice{};                 // what to do; may be empty
  std::vector<std::string> evidence{};  // lines that it was seen in
};

// The package that a command downloads before its server runs, in words for people.
struct PackageFetch {
  std::string runner;   // "npx"
  std::string package;  // as "its package", if it is not known
  std::string by_hand;  // the command, as a shell takes it

  // "npx fetches some-server before it starts it"
  [[nodiscard]] std::string text() const;
  // Advice for a server that does not answer in time.
  [[nodiscard]] std::string advice() const;
};

// The package that the command of `backend` fetches. Nothing: it fetches none, or its package is
// installed in the folder where it runs, or above. Looks for folders.
std::optional<PackageFetch> package_fetch_of(const config::BackendConfig& backend);

// The facts that findings_of() needs besides the observations.
struct FindingContext {
  const config::BackendConfig& backend;
  const config::LimitsConfig& limits;
  // Whether the gateway's own environment has a variable.
  std::function<bool(const std::string&)> has_variable;
  std::string_view request;  // the one that was to be answered first
  bool answered = false;     // and was
  bool refused = false;      // The answer was an error, or of an unexpected kind.
  Duration first_answer{0};  // if it was: from the start on
  Duration timeout{0};       // that it had
  Duration grace{0};
  std::optional<PackageFetch> fetch{};  // what it may have fetched in that time
};

// Limits above which users notice.
inline constexpr Duration kSlowStart = std::chrono::seconds(5);
inline constexpr size_t kHugeMessage = 1 << 20;

// The words of a finding about npm.
inline constexpr std::string_view kAsks =
    "npx asks whether it may install the package, and nobody is there";
inline constexpr std::string_view kDoNotAsk = "write npx -y";

// The mistakes of a command, as the observations of one of its processes show them. Pure.
std::vector<Finding> findings_of(const Observations& seen, const FindingContext& context);

// Lines of stderr for a report: what a server says of the doctor's own questions is marked.
std::vector<std::string> lines_shown(const std::vector<std::string>& lines);

// How a process ended that the end of its input had not ended.
std::string forced_end_text(const Observations& seen);

// "exit code 3", "signal 11 (SIGSEGV)"
std::string text_of(const pool::ExitStatus& status);
// "812 ms", "1.3 s"
std::string text_of(Duration duration);

// The outcome of a question that was waited for in vain.
inline constexpr std::string_view kNoAnswer = "no answer";

// One thing that was tried, and how long it took.
struct Step {
  std::string name;
  Duration took{0};
  bool is_ok = false;
  std::string outcome{};  // for people: "5 tools"
};

// DoctorTime: the time that an examination has in all.
//
// Job: give each step as much time as is left, and say afterwards what was waited for if that was
// too little. Owner: the doctor. The end of a process has a bound of its own. Limit: a step that is
// begun has at least kLeast.
class DoctorTime {
 public:
  static constexpr Duration kLeast = std::chrono::seconds(5);

  // Begins now.
  DoctorTime(const Clock& clock, Duration whole)
      : clock_(clock), whole_(whole), until_(clock.now() + whole) {}

  // The time for a step that would have this long.
  [[nodiscard]] Duration left(Duration wanted) const;
  // Whether no further attempt may begin.
  [[nodiscard]] bool is_over() const { return clock_.now() >= until_; }
  // The step that was waited for, if the time is over.
  [[nodiscard]] std::optional<Finding> shortage(const std::vector<Step>& steps) const;

 private:
  const Clock& clock_;
  const Duration whole_;
  const TimePoint until_;
};

}  // namespace stdgate::tools
