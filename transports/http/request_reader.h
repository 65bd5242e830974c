// RequestReader: the bytes of one HTTP/1.1 request after the other, as far as they are there.
//
// Job: bring a request's head and body into its Exchange, or say what is wrong with them; discard
// the body of a request that was refused by its head, where that keeps the connection; say when a
// body is late. Owner: a connection, which knows what is to be read next. No I/O. Limits: config
// limits; kMaxDiscard bytes of a body that is discarded, a larger one ends the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gateway/config/config.h"
#include "transports/http/exchange.h"
#include "transports/http/request_head.h"
#include "transports/http/response.h"

namespace stdgate::http {

// The answer to a request that cannot be read.
HttpError to_http_error(const HeadError& error);

class RequestReader {
 public:
  static constexpr size_t kMaxDiscard = 64 << 10;

  enum class Outcome : uint8_t { incomplete, complete, failed, too_large };
  struct Step {
    size_t taken = 0;  // bytes
    Outcome outcome = Outcome::incomplete;
    HeadError error{};  // when failed
  };

  RequestReader(const config::LimitsConfig& limits, const config::TimeoutsConfig& timeouts)
      : limits_(limits), timeouts_(timeouts) {}

  // --- The head
  void start_head(Exchange& exchange) const;
  // `bytes` begins where it began the last time. Forgets the exchange's judgement unless the head
  // is the one that it was made for.
  static Step read_head(Exchange& exchange, std::span<char> bytes);
  // The head is complete: decides what an answer before the end of the body does to the connection.
  // `body_has_begun`: bytes follow.
  void take_head(Exchange& exchange, bool body_has_begun);

  // --- The body
  // `bytes_read`: all that the connection has ever read. Its outcome is incomplete or too_large.
  Outcome start_body(Exchange& exchange, TimePoint now, uint64_t bytes_read);
  static Step read_body(Exchange& exchange, std::span<char> bytes);
  // Whether what comes of a body goes nowhere.
  [[nodiscard]] bool has_to_discard() const { return to_discard_ > 0; }
  Step discard(std::span<char> bytes);

  // When is_body_late() is to be asked. `since`: its last byte.
  [[nodiscard]] TimePoint body_due(const Exchange& exchange, TimePoint since) const;
  // By a pause, by its rate, or as a whole.
  bool is_body_late(Exchange& exchange, TimePoint since, TimePoint now, uint64_t bytes_read) const;

 private:
  [[nodiscard]] static size_t discardable(const RequestHead& head, bool body_has_begun);

  const config::LimitsConfig& limits_;
  const config::TimeoutsConfig& timeouts_;
  size_t to_discard_ = 0;  // of the body of the request, should that be refused
};

}  // namespace stdgate::http
