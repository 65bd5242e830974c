#include "transports/http/request_reader.h"

#include <algorithm>

namespace stdgate::http {

HttpError to_http_error(const HeadError& error) {
  const bool is_plain = error.refusal == Refusal::other && error.status == 400;
  return {.status = error.status,
          .message = error.reason,
          .refusal = is_plain ? Refusal::bad_head : error.refusal};
}

// --- The head ------------------------------------------------------------------------------------

void RequestReader::start_head(Exchange& exchange) const {
  exchange.scanner.start(HeadScanner::Kind::request, limits_.headers);
}

RequestReader::Step RequestReader::read_head(Exchange& exchange, std::span<char> bytes) {
  const std::string_view text(bytes.data(), bytes.size());
  if (exchange.head.is_repeated_by(text)) {
    return {exchange.head.block().size(), Outcome::complete};
  }
  exchange.forget_judgement();
  // It is another one, and need not be compared with each further byte.
  if (text.size() >= exchange.head.block().size()) exchange.head.wipe();
  HeadScanner& scanner = exchange.scanner;
  switch (scanner.scan(text)) {
    case HeadScanner::Result::incomplete:
      return {};
    case HeadScanner::Result::failed:
      return {0, Outcome::failed, scanner.error()};
    case HeadScanner::Result::complete:
      break;
  }
  const size_t end = scanner.block_end();
  const auto parsed =
      exchange.head.parse(text.substr(scanner.block_begin(), end - scanner.block_begin()));
  if (!parsed) return {end, Outcome::failed, parsed.error()};
  return {end, Outcome::complete};
}

// An answer before the body has been read has to close, unless the body can be discarded: what
// follows is no request.
void RequestReader::take_head(Exchange& exchange, bool body_has_begun) {
  const RequestHead& head = exchange.head;
  to_discard_ = discardable(head, body_has_begun);
  exchange.keep_alive =
      head.keep_alive() && (head.body_kind() == BodyKind::none || to_discard_ > 0);
  exchange.has_head = true;
}

// Bytes of the body that can be read for nothing to keep the connection. None if the client may
// leave it out, as it waits for 100 Continue (RFC 9110 section 10.1.1).
size_t RequestReader::discardable(const RequestHead& head, bool body_has_begun) {
  const bool is_known = head.method() == Method::post && head.body_kind() == BodyKind::length &&
                        head.content_length() <= kMaxDiscard;
  if (!is_known || (head.expects_continue() && !body_has_begun)) return 0;
  return static_cast<size_t>(head.content_length());
}

// --- The body ------------------------------------------------------------------------------------

RequestReader::Outcome RequestReader::start_body(Exchange& exchange, TimePoint now,
                                                 uint64_t bytes_read) {
  const RequestHead& head = exchange.head;
  to_discard_ = 0;
  exchange.keep_alive = false;  // until all of it has been read
  if (head.body_kind() == BodyKind::chunked) {
    exchange.body.start_chunked(limits_.message);
  } else if (head.content_length() > limits_.message) {
    return Outcome::too_large;
  } else {
    exchange.body.start_length(head.content_length());
  }
  exchange.body_since = now;
  exchange.body_rate.begin(now, bytes_read);
  return Outcome::incomplete;
}

RequestReader::Step RequestReader::read_body(Exchange& exchange, std::span<char> bytes) {
  const size_t taken = exchange.body.feed(bytes);
  switch (exchange.body.state()) {
    case BodyReader::State::reading:
      break;
    case BodyReader::State::complete:
      exchange.keep_alive = exchange.head.keep_alive();
      return {taken, Outcome::complete};
    case BodyReader::State::failed:
      return {taken, Outcome::failed, {400, exchange.body.problem(), Refusal::bad_body}};
    case BodyReader::State::too_large:
      return {taken, Outcome::too_large};
  }
  return {taken, Outcome::incomplete};
}

RequestReader::Step RequestReader::discard(std::span<char> bytes) {
  const size_t taken = std::min(to_discard_, bytes.size());
  to_discard_ -= taken;
  return {taken, to_discard_ > 0 ? Outcome::incomplete : Outcome::complete};
}

TimePoint RequestReader::body_due(const Exchange& exchange, TimePoint since) const {
  return std::min({since + timeouts_.body, exchange.body_rate.due(timeouts_.body),
                   exchange.body_since + timeouts_.request});
}

bool RequestReader::is_body_late(Exchange& exchange, TimePoint since, TimePoint now,
                                 uint64_t bytes_read) const {
  return now >= since + timeouts_.body || now >= exchange.body_since + timeouts_.request ||
         exchange.body_rate.is_slow(now, timeouts_.body, limits_.min_rate,
                                    [bytes_read] { return bytes_read; });
}

}  // namespace stdgate::http
