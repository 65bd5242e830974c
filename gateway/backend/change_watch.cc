#include "gateway/backend/change_watch.h"

#include "gateway/pool/child.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::backend {

// A modern child tells of changes only those who listen for them.
void ChangeWatch::on_event(const call::Call& call, const rpc::Envelope& notification,
                           TextPlace progress_token) {
  if (call.listens) note(notification, rpc::decode_string(notification.method, method_));
  next_.on_event(call, notification, progress_token);
}

void ChangeWatch::on_notification(pool::Child& child, const rpc::Envelope& notification,
                                  std::string_view method) {
  if (child.isolation() == config::Isolation::shared) {
    note(notification, method);
  } else if (const uint8_t list = dialect_.audience(notification, method).list; list != 0) {
    changes_.on_lists_changed(child.lease(), list);
  }
  next_.on_notification(child, notification, method);
}

void ChangeWatch::note(const rpc::Envelope& notification, std::string_view method) {
  const pool::Audience audience = dialect_.audience(notification, method);
  const bool is_change = audience.list != 0 || audience.kind == pool::Audience::Kind::subscribers;
  if (is_change) changes_.on_changed(audience);
  if (audience.list != 0) changes_.on_lists_changed({}, audience.list);
}

}  // namespace stdgate::backend
