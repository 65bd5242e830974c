#include "transports/http/http1_request.h"

#include <algorithm>

namespace stdgate::http {

HttpError to_http_error(const HeadError& error) {
  const bool is_plain = error.refusal == Refusal::other && error.status == 400;
  return {.status = error.status,
          .message = error.reason,
          .refusal = is_plain ? Refusal::bad_head : error.refusal};
}

// --- The head ------------------------------------------------------------------------------------

Http1Request::Step Http1Request::read_head(std::span<char> bytes) {
  const std::string_view text(bytes.data(), bytes.size());
  if (head_.is_repeated_by(text)) return {head_.block().size(), Outcome::complete};
  // The head differs, and need not be compared with each further byte.
  if (text.size() >= head_.block().size()) head_.wipe();
  switch (scanner_.scan(text)) {
    case HeadScanner::Result::incomplete:
      return {.is_new = true};
    case HeadScanner::Result::failed:
      return {0, Outcome::failed, scanner_.error(), true};
    case HeadScanner::Result::complete:
      break;
  }
  const size_t begin = scanner_.block_begin();
  const size_t end = scanner_.block_end();
  const auto parsed = head_.parse(text.substr(begin, end - begin));
  if (!parsed) return {end, Outcome::failed, parsed.error(), true};
  return {.taken = end, .outcome = Outcome::complete, .is_new = true};
}

// An answer before the body has been read has to close, unless the body can be discarded: what
// follows is no request.
void Http1Request::take_head(bool body_has_begun) {
  to_discard_ = discardable(head_, body_has_begun);
  keeps_alive_ = head_.keep_alive() && (!head_.has_body() || to_discard_ > 0);
}

// Bytes of the body that can be read for nothing to keep the connection. None if the client may
// leave it out, as it waits for 100 Continue (RFC 9110 section 10.1.1).
size_t Http1Request::discardable(const Http1Head& head, bool body_has_begun) {
  const bool is_known = head.method() == Method::post && head.body_kind() == BodyKind::length &&
                        head.content_length() <= kMaxDiscard;
  if (!is_known || (head.expects_continue() && !body_has_begun)) return 0;
  return static_cast<size_t>(head.content_length());
}

// --- The body ------------------------------------------------------------------------------------

Http1Request::Outcome Http1Request::start_body(TimePoint now, uint64_t bytes_read) {
  to_discard_ = 0;
  keeps_alive_ = false;  // until all of it has been read
  if (head_.body_kind() == BodyKind::chunked) {
    body_.start_chunked(limits_.message);
  } else if (head_.content_length() > limits_.message) {
    return Outcome::too_large;
  } else {
    body_.start_length(head_.content_length());
  }
  body_since_ = now;
  body_rate_.begin(now, bytes_read);
  return Outcome::incomplete;
}

Http1Request::Step Http1Request::read_body(std::span<char> bytes) {
  const size_t taken = body_.feed(bytes);
  switch (body_.state()) {
    case Http1Body::State::reading:
      break;
    case Http1Body::State::complete:
      keeps_alive_ = head_.keep_alive();
      return {taken, Outcome::complete};
    case Http1Body::State::failed:
      return {taken, Outcome::failed, {400, body_.problem(), Refusal::bad_body}};
    case Http1Body::State::too_large:
      return {taken, Outcome::too_large};
  }
  return {taken, Outcome::incomplete};
}

Http1Request::Step Http1Request::discard(std::span<char> bytes) {
  const size_t taken = std::min(to_discard_, bytes.size());
  to_discard_ -= taken;
  return {taken, to_discard_ > 0 ? Outcome::incomplete : Outcome::complete};
}

TimePoint Http1Request::body_due(TimePoint since) const {
  return std::min(
      {since + timeouts_.body, body_rate_.due(timeouts_.body), body_since_ + timeouts_.request});
}

bool Http1Request::is_body_late(TimePoint since, TimePoint now, uint64_t bytes_read) {
  return now >= since + timeouts_.body || now >= body_since_ + timeouts_.request ||
         body_rate_.is_slow(now, timeouts_.body, limits_.min_rate,
                            [bytes_read] { return bytes_read; });
}

void Http1Request::leave() {
  to_discard_ = 0;
  keeps_alive_ = false;
  if (head_.has_credentials()) head_.wipe();
}

void Http1Request::rest() {
  head_.forget_long_block();
  body_.clear();
}

}  // namespace stdgate::http
