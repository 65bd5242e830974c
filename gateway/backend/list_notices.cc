#include "gateway/backend/list_notices.h"

#include <string>

#include "gateway/rpc/message_text.h"

namespace stdgate::backend {

// Stateless children do not count, because their sessions listen: see Bridge.
void ListNotices::note_gone(const pool::Child& child) {
  if (child.peer_kind() == PeerKind::stateless || child.facts().capabilities.empty()) return;
  of_gone_ = child.facts().changing_lists;
}

void ListNotices::tell() {
  uint8_t of_shared = 0;
  bool is_known = false;
  for (const auto& child : pool_.children()) {
    const uint8_t lists = child->facts().changing_lists;
    tell_listeners(*child, lists);
    if (child->isolation() != config::Isolation::shared ||
        child->peer_kind() == PeerKind::stateless)
      continue;
    of_shared = static_cast<uint8_t>(of_shared | lists);
    is_known = is_known || !child->facts().capabilities.empty();
  }
  if (!is_known) of_shared = of_gone_;
  const bool shares = services_.config.isolation == config::Isolation::shared;
  sessions_.tell_changed([&](session::SessionId session) -> uint8_t {
    const pool::SessionMemory* const memory = pool_.lane().memory_of(session);
    if (memory == nullptr) return shares ? of_shared : 0;
    return memory->terms() ? memory->terms()->changing : 0;
  });
}

void ListNotices::tell_listeners(pool::Child& child, uint8_t lists) const {
  std::string method;
  for (const std::string_view notice : services_.dialect.change_notices(lists)) {
    std::string text(notice);
    const rpc::KnownMessage known(text);
    const rpc::Envelope& notification = known.envelope();
    const pool::Audience audience =
        services_.dialect.audience(notification, notification.decoded_method(method));
    bridge_.pass_to_listeners(child, notification, audience.list);
  }
}

}  // namespace stdgate::backend
