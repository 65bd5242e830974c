#include "gateway/session/log_verbosity.h"

#include <algorithm>

#include "gateway/base/check.h"

namespace stdgate::session {

namespace {

constexpr std::array<std::string_view, kSeverityCount> kNames = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

}  // namespace

std::string_view severity_name(Severity severity) { return kNames[static_cast<size_t>(severity)]; }

std::optional<Severity> parse_severity(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Severity>(found - kNames.begin());
}

void LogVerbosity::add_session(std::optional<Severity> wish) {
  if (!wish) {
    ++silent_;
    return;
  }
  ++wishes_[static_cast<size_t>(*wish)];
  ++explicit_;
}

void LogVerbosity::remove_session(std::optional<Severity> wish) {
  size_t& count = wish ? wishes_[static_cast<size_t>(*wish)] : silent_;
  STDGATE_CHECK(count > 0);
  --count;
  if (wish) --explicit_;
}

bool LogVerbosity::note_call(Severity wish) {
  if (of_calls_ && *of_calls_ <= wish) return false;
  of_calls_ = wish;
  return true;
}

Severity LogVerbosity::wanted(bool by_calls) const {
  const auto lowest =
      std::find_if(wishes_.begin(), wishes_.end(), [](size_t count) { return count > 0; });
  const bool has_any = lowest != wishes_.end();
  const auto wish = has_any ? static_cast<Severity>(lowest - wishes_.begin()) : kDefault;
  const Severity of_sessions = silent_ > 0 ? std::min(wish, kDefault) : wish;
  return by_calls ? std::min(of_sessions, *of_calls_) : of_sessions;
}

std::optional<Severity> LogVerbosity::take(uint64_t child, bool serves_calls) {
  const bool by_calls = serves_calls && of_calls_;
  const auto told = told_.find(child);
  if (told == told_.end()) {
    if (explicit_ == 0 && !by_calls) return std::nullopt;
    return told_.emplace(child, wanted(by_calls)).first->second;
  }
  const Severity severity = wanted(by_calls);
  if (told->second == severity) return std::nullopt;
  told->second = severity;
  return severity;
}

bool LogVerbosity::passes(uint64_t child, std::optional<Severity> wish, Severity message) const {
  if (wish) return message >= *wish;
  return !told_.contains(child) || message >= kDefault;
}

}  // namespace stdgate::session
