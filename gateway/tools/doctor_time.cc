#include "gateway/tools/doctor_time.h"

#include <algorithm>

namespace stdgate::tools {

Duration DoctorTime::left(Duration wanted) const {
  return std::clamp(until_ - clock_.now(), std::min(wanted, kLeast), wanted);
}

std::optional<Finding> DoctorTime::shortage(const std::vector<Step>& steps) const {
  if (!is_over()) return std::nullopt;
  std::string waited;
  for (const Step& step : steps) {
    if (step.outcome != kNoAnswer) continue;
    waited.append(waited.empty() ? "" : ", ").append(step.name);
    waited.append(" (").append(text_of(step.took)).append(")");
  }
  if (waited.empty()) waited = "many steps";
  return Finding{Finding::Weight::note, "out-of-time",
                 "all steps together have " + text_of(whole_) +
                     ", so the last ones were cut short or left out; it was waited for: " + waited,
                 "stdgate doctor --timeout 5m gives it longer"};
}

}  // namespace stdgate::tools
