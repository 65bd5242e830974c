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

Severity LogVerbosity::wanted() const {
  const auto lowest =
      std::find_if(wishes_.begin(), wishes_.end(), [](size_t count) { return count > 0; });
  if (lowest == wishes_.end()) return kDefault;
  const auto wish = static_cast<Severity>(lowest - wishes_.begin());
  return silent_ > 0 ? std::min(wish, kDefault) : wish;
}

std::optional<Severity> LogVerbosity::take(uint64_t child) {
  if (settled()) return std::nullopt;
  const Severity severity = wanted();
  const auto told = told_.find(child);
  if (told == told_.end()) {
    if (explicit_ == 0) return std::nullopt;
    told_.emplace(child, severity);
    return severity;
  }
  if (told->second == severity) return std::nullopt;
  told->second = severity;
  return severity;
}

bool LogVerbosity::passes(uint64_t child, std::optional<Severity> wish, Severity message) const {
  if (wish) return message >= *wish;
  return !told_.contains(child) || message >= kDefault;
}

}  // namespace stdgate::session
