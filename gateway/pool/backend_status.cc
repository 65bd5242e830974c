#include "gateway/pool/backend_status.h"

#include <algorithm>
#include <utility>

#include "gateway/pool/child.h"

namespace stdgate::pool {

std::string_view backend_state_name(BackendState state) {
  switch (state) {
    case BackendState::unstarted:
      return "not started yet";
    case BackendState::starting:
      return "starting";
    case BackendState::started:
      return "started";
    case BackendState::ready:
      return "ready";
    case BackendState::idle:
      return "idle";
    case BackendState::failing:
      return "failing";
    case BackendState::ending:
      return "ending";
  }
  return {};
}

void ExitJournal::note(const Child& child, const ChildEnd& end, bool failed) {
  const TimePoint now = services_.core.clock.now();
  Entry entry;
  entry.at = now;
  entry.exit.number = child.number();
  entry.exit.pid = child.status().pid;
  entry.exit.reason = end.reason;
  entry.exit.failed = failed;
  entry.exit.detail = shown(end.detail);
  entry.exit.hint = end.hint;
  entry.exit.in_flight = end.in_flight;
  entry.exit.lived = now - child.started_at();
  for (const std::string& line : end.last_words) entry.exit.last_words.push_back(shown(line));
  std::deque<Entry>& kept = failed ? failed_ : fine_;
  if (kept.size() == kMaxOfAKind) kept.pop_front();
  kept.push_back(std::move(entry));
}

std::vector<ChildExit> ExitJournal::exits() const {
  const TimePoint now = services_.core.clock.now();
  std::vector<ChildExit> exits;
  for (const std::deque<Entry>* const kept : {&failed_, &fine_}) {
    for (auto entry = kept->rbegin(); entry != kept->rend(); ++entry) {
      exits.push_back(entry->exit);
      exits.back().age = now - entry->at;
    }
  }
  keep_last(exits);
  return exits;
}

void ExitJournal::keep_last(std::vector<ChildExit>& exits) {
  std::ranges::stable_sort(exits,
                           [](const ChildExit& a, const ChildExit& b) { return a.age < b.age; });
  size_t failed = 0;
  size_t fine = 0;
  std::erase_if(
      exits, [&](const ChildExit& exit) { return ++(exit.failed ? failed : fine) > kMaxOfAKind; });
}

std::string ExitJournal::shown(const std::string& text) const {
  return services_.hide_secrets == nullptr ? text : services_.hide_secrets(text);
}

}  // namespace stdgate::pool
