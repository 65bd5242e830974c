// ListNotices: tells clients that their view of a list has changed although no child has reported
// it, because the rules have been replaced.
//
// Each client hears of the lists whose changes its child has promised to report. Sessions hear of
// it through SessionRouter. Sessions and clients that listen hear of it through their calls. Owner:
// the backend.
#pragma once

#include <cstdint>

#include "gateway/backend/bridge.h"
#include "gateway/backend/session_router.h"

namespace stdgate::backend {

class ListNotices {
 public:
  // `pool` may not be constructed yet.
  ListNotices(const pool::PoolServices& services, const pool::Pool& pool, SessionRouter& sessions,
              const Bridge& bridge)
      : services_(services), pool_(pool), sessions_(sessions), bridge_(bridge) {}

  // A shared child has gone. Its sessions still know what it has declared.
  void note_gone(const pool::Child& child);
  void tell();
  // Tells the calls that listen at shared children.
  void tell_listeners(uint8_t lists) const {
    for (const auto& child : pool_.children()) {
      tell_listeners(*child, static_cast<uint8_t>(lists & child->facts().changing_lists));
    }
  }

 private:
  void tell_listeners(pool::Child& child, uint8_t lists) const;

  const pool::PoolServices& services_;
  const pool::Pool& pool_;
  SessionRouter& sessions_;
  const Bridge& bridge_;
  uint8_t of_gone_ = 0;  // declared by the last shared child
};

}  // namespace stdgate::backend
