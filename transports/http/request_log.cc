#include "transports/http/request_log.h"

#include <chrono>
#include <string>
#include <variant>

#include "gateway/base/log.h"
#include "transports/auth/digest.h"

namespace stdgate::http {

namespace {

// Refused for who the client is, where it comes from or what it has done before.
bool is_audited_status(int status) { return status == 401 || status == 403 || status == 429; }

// The session that a request names; empty: none.
std::string_view session_id_of(const Exchange& exchange) {
  if (!exchange.has_head() || !exchange.session_id.empty()) return exchange.session_id;
  const HeaderField* const field = exchange.head.find("mcp-session-id");
  return field == nullptr ? std::string_view() : field->value;
}

constexpr LogLevel kLevel = LogLevel::info;
constexpr Duration kWindow = std::chrono::seconds(1);  // of RateLimit

using FieldValue = decltype(LogField::value);

FieldValue if_known(std::string_view text, size_t limit) {
  return text.empty() ? FieldValue() : FieldValue(text.substr(0, limit));
}

}  // namespace

void RefusalLog::note(const RefusedRequest& request) {
  if (!log_.enabled(kLevel)) return;
  if (!limit_.allow(clock_.now())) {
    if (!timer_.armed()) timer_.arm(clock_.now() + kWindow);
    return;
  }
  const std::string client = request.client.to_string();
  const SessionName session =
      request.session_id.empty() ? SessionName() : auth::session_name(request.session_id);
  log_.write(kLevel, "request refused",
             {{"client", if_known(client, kMaxPath)},
              {"port", request.client.port == 0 ? FieldValue() : uint64_t{request.client.port}},
              {"principal", if_known(request.principal, kMaxPath)},
              {"session", if_known(session.view(), kMaxPath)},
              {"method", if_known(request.method, kMaxMethod)},
              {"path", if_known(request.path, kMaxPath)},
              {"status", static_cast<int64_t>(request.status)},
              {"reason", refusal_name(request.reason)},
              {"detail", request.detail},
              {"connection", request.connection}});
}

void RefusalLog::report_left_out() {
  log_.write(kLevel, "more requests refused", {{"count", limit_.take_suppressed()}});
}

void RequestLog::trace(const Exchange& exchange) {
  const RequestHead& head = exchange.head;
  const std::string address = exchange.client().to_string();
  log_.write(LogLevel::debug, "request",
             {{"client", std::string_view(address)},
              {"port", uint64_t{exchange.client().port}},
              {"method", head.method_text()},
              {"path", head.path().substr(0, RefusalLog::kMaxPath)},
              {"connection", exchange.connection_number()}});
}

void RequestLog::note_refusal(const Exchange& exchange, const Response& response) {
  const RefusalNote& refusal = *response.refusal;
  observer_.on_refused(refusal.reason);
  const bool has_head = exchange.has_head();
  const bool is_audited =
      refusal.reason == Refusal::unauthorized || is_audited_status(response.status);
  if (audit_ != nullptr && is_audited) {
    audit_->on_refused({.client = {exchange.identity.principal.get(), exchange.client()},
                        .method = has_head ? exchange.head.method_text() : std::string_view(),
                        .path = has_head ? exchange.head.path() : std::string_view(),
                        .status = response.status,
                        .reason = refusal.reason,
                        .connection = exchange.connection_number()});
  }
  const policy::Principal* const principal = exchange.identity.principal.get();
  refusals_.note({.client = exchange.client(),
                  .principal = principal == nullptr ? std::string_view() : principal->name,
                  .session_id = session_id_of(exchange),
                  .connection = exchange.connection_number(),
                  .method = has_head ? exchange.head.method_text() : std::string_view(),
                  .path = has_head ? exchange.head.path() : std::string_view(),
                  .status = response.status,
                  .reason = refusal.reason,
                  .detail = refusal.detail});
}

}  // namespace stdgate::http
