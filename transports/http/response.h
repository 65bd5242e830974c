// Response: what is answered, in whatever version of HTTP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/rpc/fault.h"
#include "gateway/session/sinks.h"

namespace stdgate::http {

// An answer that refuses a request before it became a call. A refusal is logged and counted; a
// fault of a call is not, as the call is.
struct RefusalNote {
  Refusal reason = Refusal::other;
  std::string_view detail{};  // for the log: a sentence; outlives the call
};

// What an endpoint answers. The codec writes it.
struct Response {
  int status = 200;
  std::string_view content_type{};  // a constant; empty: no content
  std::string_view type_fields{};   // lines that belong to it, a constant
  std::string_view allow{};         // a constant; empty: no Allow
  Duration retry_after{0};          // zero: no Retry-After; else rounded up to whole seconds
  // Whole lines "Name: value", each with its end, however the codec writes them; at most
  // kMaxFieldBytes.
  std::string_view more_fields{};
  std::span<const std::string_view> body{};
  std::optional<RefusalNote> refusal{};  // none: it is no refusal
};

// Bytes of such lines; the gateway's own, so asserted only.
inline constexpr size_t kMaxFieldBytes = 2048;

inline constexpr std::string_view kJsonType = "application/json";

// "200 OK"; the phrase is for people only.
std::string_view status_line_end(int status);

// A plain HTTP error, without a call that a JSON-RPC fault could answer.
struct HttpError {
  int status = 400;
  std::string_view message;  // for people; a constant, or outlives the call of Exchange::fail()
  std::string_view allow{};
  Duration retry_after{0};
  std::string_view more_fields{};  // see Response
  // Id of the refused JSON-RPC request, raw JSON; empty: not known. For Endpoint::refusal_codes().
  std::string_view request_id{};
  Refusal refusal = Refusal::other;  // other: what the status says
  std::string_view more_members{};   // JSON, for a plain HTTP error's body
  std::string_view detail{};         // for the log instead of the message; empty: the message
};

// See RequestHead::is_ambiguous().
inline constexpr HttpError kAmbiguous{.status = 400,
                                      .message = "more than one header of the same name",
                                      .refusal = Refusal::bad_head};

// The error of a client that may hold no more.
HttpError holds_too_much(MemoryLack lack);

// The reason under which a refusal by `error` is counted.
Refusal refusal_of(const HttpError& error);

// Refuses by `error`, which outlives it.
Response refusal_response(const HttpError& error);

// {"error":{"code":"not_found","message":"…"[,<more>]}}; `more` is JSON members.
std::string http_error_body(const HttpError& error, std::string_view more);

// The HTTP side of a fault: status and Retry-After, without a body. `retry_after` is a hint, zero
// for none.
Response fault_response(rpc::Fault fault, Duration retry_after);

// The JSON-RPC error of a fault as a body. `id`: see append_fault_response().
std::string fault_body(std::string_view id, const rpc::FaultReport& report, rpc::CodeSet codes);

// The JSON-RPC error that stands in the body of `error`, where refusals are such.
std::string json_rpc_error_body(const HttpError& error, rpc::CodeSet codes);

// DateHeader: the value of the Date field (RFC 9110 section 5.6.7), written once a second.
class DateHeader {
 public:
  // `now` is the loop's time; the wall clock is read only when a second has passed since the last
  // look.
  std::string_view at(TimePoint now);

 private:
  static constexpr size_t kSize = sizeof("Sun, 06 Nov 1994 08:49:37 GMT") - 1;
  std::array<char, kSize> text_{};
  TimePoint valid_until_{};
};

// Writes the date of `seconds` since the epoch into `out`, 29 bytes.
void write_http_date(int64_t seconds, char* out);

// --- The text of an event stream: server-sent events (WHATWG HTML, section 9.2.6)

// The text before the data of one event; kEventEnd stands behind it.
class EventFrame {
 public:
  static constexpr size_t kMaxField = 128;  // bytes of an event's name, and of its id

  // Name, id and data are each on one line: JSON has had its raw newlines blanked. There is a data
  // field even if it is empty, else a browser would not dispatch the event.
  explicit EventFrame(const session::StreamEvent& event);

  [[nodiscard]] std::string_view head() const { return {bytes_.data(), size_}; }

 private:
  static constexpr size_t kFieldNames = 64;  // of all fields, with the digits of "retry"

  void append(std::string_view text);
  void append_field(std::string_view name, std::string_view value);

  std::array<char, kFieldNames + 2 * kMaxField> bytes_;
  size_t size_ = 0;
};

inline constexpr std::string_view kEventEnd = "\n\n";
inline constexpr std::string_view kDoneEvent = "[DONE]";
// A comment, which clients skip.
inline constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

}  // namespace stdgate::http
