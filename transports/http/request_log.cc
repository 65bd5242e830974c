#include "transports/http/request_log.h"

#include <string>

namespace stdgate::http {

namespace {

// Refused for who the client is, where it comes from or what it has done before.
bool is_audited_status(int status) { return status == 401 || status == 403 || status == 429; }

}  // namespace

void RequestLog::trace(const RequestHead& head, const ClientAddress& client, uint64_t connection) {
  const std::string peer = client.with_port();
  log_.write(LogLevel::debug, "request",
             {{"peer", std::string_view(peer)},
              {"method", head.method_text()},
              {"path", head.path().substr(0, RefusalLog::kMaxPath)},
              {"connection", connection}});
}

void RequestLog::note_refusal(const Exchange& exchange, const Response& response,
                              const ClientAddress& client, uint64_t connection) {
  const RefusalNote& refusal = *response.refusal;
  observer_.on_refused(refusal.reason);
  const bool has_head = exchange.has_head;
  const bool is_audited =
      refusal.reason == Refusal::unauthorized || is_audited_status(response.status);
  if (audit_ != nullptr && is_audited) {
    audit_->on_refused({.client = {exchange.identity.principal.get(), client},
                        .method = has_head ? exchange.head.method_text() : std::string_view(),
                        .path = has_head ? exchange.head.path() : std::string_view(),
                        .status = response.status,
                        .reason = refusal.reason,
                        .connection = connection});
  }
  refusals_.note({.peer = client,
                  .connection = connection,
                  .method = has_head ? exchange.head.method_text() : std::string_view(),
                  .path = has_head ? exchange.head.path() : std::string_view(),
                  .status = response.status,
                  .reason = refusal.reason,
                  .detail = refusal.detail});
}

}  // namespace stdgate::http
