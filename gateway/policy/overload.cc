#include "gateway/policy/overload.h"

#include <algorithm>

namespace stdgate::policy {

bool Overload::note_memory(double resident, double held) {
  resident_ = resident;
  full_readings_ = resident >= kFull ? full_readings_ + 1 : 0;
  const Memory before = memory_;
  const double part = std::max(resident, held);
  const bool stays_full = memory_ == Memory::full && resident >= kFull - kSlack;
  if (full_readings_ >= kFullReadings || stays_full) {
    memory_ = Memory::full;
  } else if (part < kTight - kSlack) {
    memory_ = Memory::free;
  } else if (part >= kTight || memory_ == Memory::full) {
    memory_ = Memory::tight;
  }
  return memory_ != before;
}

bool Overload::note_lag(Duration lag) {
  if (max_lag_ == Duration::zero()) return false;
  const bool was_late = is_late_;
  late_readings_ = lag > max_lag_ ? late_readings_ + 1 : 0;
  if (late_readings_ >= kLateReadings) is_late_ = true;
  if (lag <= max_lag_ / 2) is_late_ = false;
  return is_late_ != was_late;
}

}  // namespace stdgate::policy
