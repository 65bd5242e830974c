// Response: what is answered, and how its head is written (RFC 9112 section 4).
//
// Heads are built by appending constants and numbers to a buffer on the stack; nothing is
// allocated.
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

namespace stdgate::http {

// An answer that refuses a request before it became a call. It is logged and counted; a fault of a
// call is not, as the call is.
struct RefusalNote {
  Refusal reason = Refusal::other;
  std::string_view detail{};  // for the log: a sentence; outlives the call
};

struct Response {
  int status = 200;
  std::string_view content_type{};  // a constant; empty: no content
  std::string_view allow{};         // a constant; empty: no Allow
  Duration retry_after{0};          // zero: no Retry-After; else rounded up to whole seconds
  std::string_view more_fields{};   // whole lines, each with its end; at most kMaxFieldBytes
  std::span<const std::string_view> body{};
  std::optional<RefusalNote> refusal{};  // none: it is no refusal
};

// Bytes of such lines; the gateway's own, so asserted only.
inline constexpr size_t kMaxFieldBytes = 2048;

inline constexpr std::string_view kJsonType = "application/json";

// "200 OK"; the phrase is for people only.
std::string_view status_line_end(int status);

// How the connection goes on, and what else stands in every head.
struct ResponseFrame {
  std::string_view date{};         // RFC 9110 section 6.6.1
  std::string_view more_fields{};  // whole lines, as in Response
  bool http_1_0 = false;           // of the request
  bool close = false;              // after this response
};

class ResponseHead {
 public:
  ResponseHead(const Response& response, const ResponseFrame& frame);
  // The head of an event stream: chunked, or ended by closing towards HTTP/1.0.
  ResponseHead(std::string_view more_fields, const ResponseFrame& stream_frame);

  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void append(std::string_view text);
  void append(uint64_t number);
  void begin(int status, const ResponseFrame& frame);
  void append_connection(const ResponseFrame& frame);

  static constexpr size_t kMaxOwn = 384;  // of the lines that are made here

  std::array<char, kMaxOwn + 2 * kMaxFieldBytes> bytes_;
  size_t size_ = 0;
};

// A plain HTTP error, where there is no call that a JSON-RPC fault could answer.
struct HttpError {
  int status = 400;
  std::string_view message;  // for people; a constant, or outlives the call of Responder::fail()
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

// That of a client which is to hold no more.
HttpError holds_too_much(MemoryLack lack);

// What a refusal by `error` is counted as.
Refusal refusal_of(const HttpError& error);

// Refuses by `error` with this body; both outlive it.
inline Response refusal_response(const HttpError& error, const std::string_view& body) {
  return {.status = error.status,
          .content_type = kJsonType,
          .allow = error.allow,
          .retry_after = error.retry_after,
          .more_fields = error.more_fields,
          .body = {&body, 1},
          .refusal =
              RefusalNote{refusal_of(error), error.detail.empty() ? error.message : error.detail}};
}

// {"error":{"code":"not_found","message":"…"[,<more>]}}; `more` is JSON members.
std::string http_error_body(const HttpError& error, std::string_view more);

}  // namespace stdgate::http
