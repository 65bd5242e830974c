#include "transports/http/response.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>

#include "gateway/base/check.h"
#include "gateway/rpc/fault.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::http {

namespace {

struct StatusEntry {
  int status;
  std::string_view line_end;
  std::string_view code;  // of an error, for programs
  Refusal refusal;        // that it usually is
};

constexpr StatusEntry kStatuses[] = {
    {101, "101 Switching Protocols", "", Refusal::other},
    {200, "200 OK", "", Refusal::other},
    {202, "202 Accepted", "", Refusal::other},
    {204, "204 No Content", "", Refusal::other},
    {400, "400 Bad Request", "bad_request", Refusal::bad_request},
    {401, "401 Unauthorized", "unauthorized", Refusal::unauthorized},
    {403, "403 Forbidden", "forbidden", Refusal::forbidden},
    {404, "404 Not Found", "not_found", Refusal::not_found},
    {405, "405 Method Not Allowed", "method_not_allowed", Refusal::method_not_allowed},
    {406, "406 Not Acceptable", "not_acceptable", Refusal::not_acceptable},
    {408, "408 Request Timeout", "timeout", Refusal::timeout},
    {410, "410 Gone", "gone", Refusal::gone},
    {413, "413 Content Too Large", "too_large", Refusal::too_large},
    {414, "414 URI Too Long", "uri_too_long", Refusal::uri_too_long},
    {415, "415 Unsupported Media Type", "unsupported_media_type", Refusal::unsupported_media_type},
    {417, "417 Expectation Failed", "expectation_failed", Refusal::expectation_failed},
    {426, "426 Upgrade Required", "upgrade_required", Refusal::upgrade_required},
    {429, "429 Too Many Requests", "rate_limited", Refusal::rate_limited},
    {431, "431 Request Header Fields Too Large", "headers_too_large", Refusal::headers_too_large},
    {500, "500 Internal Server Error", "internal", Refusal::other},
    {501, "501 Not Implemented", "not_implemented", Refusal::not_implemented},
    {502, "502 Bad Gateway", "bad_gateway", Refusal::other},
    {503, "503 Service Unavailable", "overloaded", Refusal::overloaded},
    {504, "504 Gateway Timeout", "timeout", Refusal::other},
    {505, "505 HTTP Version Not Supported", "version_not_supported",
     Refusal::version_not_supported},
};

const StatusEntry& entry_of(int status) {
  for (const StatusEntry& entry : kStatuses) {
    if (entry.status == status) return entry;
  }
  assert(false && "a status that nothing here answers with");
  return kStatuses[0];
}

// The fault that is nearest to an HTTP status: its code goes into the body.
rpc::Fault fault_of_status(int status) {
  switch (status) {
    case 401:
      return rpc::Fault::unauthenticated;
    case 413:
      return rpc::Fault::too_large;
    case 429:
      return rpc::Fault::rate_limited;
    case 500:
      return rpc::Fault::internal;
    case 503:
      return rpc::Fault::overloaded;
    default:
      return rpc::Fault::invalid_request;
  }
}

}  // namespace

std::string_view status_line_end(int status) { return entry_of(status).line_end; }

HttpError holds_too_much(MemoryLack lack) {
  const bool is_own = lack == MemoryLack::of_holder;
  return {503,
          is_own ? "limits.buffered_per_client is used up by this client"
                 : "limits.buffered is used up",
          {},
          rpc::kRetryHint};
}

Response refusal_response(const HttpError& error) {
  return {.status = error.status,
          .content_type = kJsonType,
          .allow = error.allow,
          .retry_after = error.retry_after,
          .more_fields = error.more_fields,
          .refusal =
              RefusalNote{refusal_of(error), error.detail.empty() ? error.message : error.detail}};
}

Refusal refusal_of(const HttpError& error) {
  return error.refusal == Refusal::other ? entry_of(error.status).refusal : error.refusal;
}

std::string http_error_body(const HttpError& error, std::string_view more) {
  std::string body = R"({"error":{"code":")";
  body += entry_of(error.status).code;
  body += R"(","message":)";
  rpc::append_json_string(body, error.message);
  if (!more.empty()) {
    body += ',';
    body += more;
  }
  body += "}}\n";
  return body;
}

Response fault_response(rpc::Fault fault, Duration retry_after) {
  Response response;
  response.status = rpc::fault_http_status(fault);
  response.retry_after = retry_after;
  if (fault == rpc::Fault::overloaded || fault == rpc::Fault::rate_limited ||
      fault == rpc::Fault::unrecorded) {
    response.retry_after = std::max(response.retry_after, rpc::kRetryHint);
  }
  return response;
}

std::string fault_body(std::string_view id, const rpc::FaultReport& report, rpc::CodeSet codes) {
  std::string body;
  rpc::append_fault_response(body, id, report, codes, false);
  body += '\n';
  return body;
}

std::string json_rpc_error_body(const HttpError& error, rpc::CodeSet codes) {
  rpc::FaultReport report = rpc::faults::plain(fault_of_status(error.status));
  report.message = error.message;
  report.retry_after = error.retry_after;
  std::string body;
  rpc::append_fault_response(body, error.request_id, report, codes, false);
  return body;
}

namespace {

char* put(char* out, const char* text, size_t size) {
  std::memcpy(out, text, size);
  return out + size;
}

char* put_two_digits(char* out, int number) {
  *out++ = static_cast<char>('0' + number / 10);
  *out++ = static_cast<char>('0' + number % 10);
  return out;
}

}  // namespace

void write_http_date(int64_t seconds, char* out) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  out = put(out, &"SunMonTueWedThuFriSat"[3 * parts.tm_wday], 3);
  out = put(out, ", ", 2);
  out = put_two_digits(out, parts.tm_mday);
  *out++ = ' ';
  out = put(out, &"JanFebMarAprMayJunJulAugSepOctNovDec"[3 * parts.tm_mon], 3);
  *out++ = ' ';
  const int year = parts.tm_year + 1900;
  out = put_two_digits(put_two_digits(out, year / 100), year % 100);
  *out++ = ' ';
  out = put_two_digits(out, parts.tm_hour);
  *out++ = ':';
  out = put_two_digits(out, parts.tm_min);
  *out++ = ':';
  out = put_two_digits(out, parts.tm_sec);
  put(out, " GMT", 4);
}

std::string_view DateHeader::at(TimePoint now) {
  if (now >= valid_until_) {
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    write_http_date(std::chrono::duration_cast<std::chrono::seconds>(wall).count(), text_.data());
    valid_until_ = now + std::chrono::seconds(1);
  }
  return {text_.data(), text_.size()};
}

EventFrame::EventFrame(const session::StreamEvent& event) {
  STDGATE_CHECK(event.name.size() <= kMaxField && event.id.size() <= kMaxField);
  if (!event.name.empty()) append_field("event: ", event.name);
  if (!event.id.empty()) append_field("id: ", event.id);
  if (event.retry_ms != 0) {
    std::array<char, 16> digits;
    const char* end =
        std::to_chars(digits.data(), digits.data() + digits.size(), event.retry_ms).ptr;
    append_field("retry: ", {digits.data(), static_cast<size_t>(end - digits.data())});
  }
  append("data: ");
}

void EventFrame::append(std::string_view text) {
  std::memcpy(bytes_.data() + size_, text.data(), text.size());
  size_ += text.size();
}

void EventFrame::append_field(std::string_view name, std::string_view value) {
  append(name);
  append(value);
  append("\n");
}

}  // namespace stdgate::http
