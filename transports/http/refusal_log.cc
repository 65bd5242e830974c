#include "transports/http/refusal_log.h"

#include <chrono>
#include <string>
#include <variant>

#include "gateway/base/session_name.h"
#include "transports/auth/sha256.h"

namespace stdgate::http {

namespace {

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

}  // namespace stdgate::http
