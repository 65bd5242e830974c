// ListNotices: tells clients that what they may see of a list has changed, though no child says so:
// the rules have been replaced.
//
// Each client hears of the lists whose changes its child has declared to tell of. Sessions are told
// as SessionRouter tells them of anything; sessions at modern children and modern clients by the
// calls with which they listen. Owner: the backend.
#pragma once

#include <cstdint>

#include "gateway/backend/modern_calls.h"
#include "gateway/backend/session_router.h"

namespace stdgate::backend {

class ListNotices {
 public:
  // `pool` may not be constructed yet.
  ListNotices(const pool::PoolServices& services, const pool::Pool& pool, SessionRouter& sessions,
              const ModernCalls& modern)
      : services_(services), pool_(pool), sessions_(sessions), modern_(modern) {}

  // A shared child has gone; its sessions have heard what it declared.
  void note_gone(const pool::Child& child);
  void tell();
  // Tells those who listen at shared children.
  void tell_listeners(uint8_t lists) const {
    for (const auto& child : pool_.children()) {
      tell_listeners(*child, static_cast<uint8_t>(lists & lists_of(*child)));
    }
  }

 private:
  [[nodiscard]] uint8_t lists_of(const pool::Child& child) const;
  void tell_listeners(pool::Child& child, uint8_t lists) const;

  const pool::PoolServices& services_;
  const pool::Pool& pool_;
  SessionRouter& sessions_;
  const ModernCalls& modern_;
  uint8_t of_gone_ = 0;  // what the last shared child of the legacy era had declared
};

}  // namespace stdgate::backend
