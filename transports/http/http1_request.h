// Http1Request: the bytes of one HTTP/1.1 request after the other, as far as they are there.
//
// Job: read a request's head and body, or say what is wrong with them. Discard the body of a
// request that was refused by its head, where that keeps the connection. Say when a body is late,
// and whether the client lets the connection continue. Owner: a connection, which decides what is
// read next. No I/O. Limits: config limits; kMaxDiscard bytes of a discarded body, beyond which the
// connection ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gateway/config/config.h"
#include "gateway/policy/rates.h"
#include "transports/http/http1_body.h"
#include "transports/http/http1_head.h"
#include "transports/http/response.h"

namespace stdgate::http {

// The answer to a request that cannot be read.
HttpError to_http_error(const HeadError& error);

class Http1Request {
 public:
  static constexpr size_t kMaxDiscard = 64 << 10;

  enum class Outcome : uint8_t { incomplete, complete, failed, too_large };
  struct Step {
    size_t taken = 0;  // bytes
    Outcome outcome = Outcome::incomplete;
    HeadError error{};    // when failed
    bool is_new = false;  // of a head: it is not the one before
  };

  // Both outlive it.
  Http1Request(StoragePool& storages, const config::LimitsConfig& limits,
               const config::TimeoutsConfig& timeouts)
      : body_(storages), limits_(limits), timeouts_(timeouts) {}

  // --- The head
  [[nodiscard]] const Http1Head& head() const { return head_; }
  void start_head() { scanner_.start(HeadScanner::Kind::request, limits_.headers); }
  // `bytes` begins where it began the last time.
  Step read_head(std::span<char> bytes);
  // The head is complete: decides what an answer before the end of the body does to the connection.
  // `body_has_begun`: bytes follow.
  void take_head(bool body_has_begun);
  // Whether another request may follow the answer.
  [[nodiscard]] bool keeps_alive() const { return keeps_alive_; }
  void end_with_answer() { keeps_alive_ = false; }

  // --- The body
  // `bytes_read`: number of all bytes that the connection has read. The outcome is incomplete or
  // too_large.
  Outcome start_body(TimePoint now, uint64_t bytes_read);
  Step read_body(std::span<char> bytes);
  [[nodiscard]] Http1Body& body() { return body_; }
  // Whether what comes of a body goes nowhere.
  [[nodiscard]] bool has_to_discard() const { return to_discard_ > 0; }
  Step discard(std::span<char> bytes);

  // When is_body_late() is to be asked. `since`: its last byte.
  [[nodiscard]] TimePoint body_due(TimePoint since) const;
  // By a pause, by its rate, or as a whole.
  bool is_body_late(TimePoint since, TimePoint now, uint64_t bytes_read);

  // Memory of what has come and is not bounded by usual sizes.
  [[nodiscard]] size_t held() const { return body_.held() + head_.long_block(); }
  // Of the request nothing is needed any more, but for the block of its head.
  void rest();
  // Requests of another connection follow. Only a head without credentials stays.
  void leave();

 private:
  [[nodiscard]] static size_t discardable(const Http1Head& head, bool body_has_begun);

  Http1Head head_;
  HeadScanner scanner_;
  Http1Body body_;
  const config::LimitsConfig& limits_;
  const config::TimeoutsConfig& timeouts_;
  TimePoint body_since_{};  // the end of the head
  policy::RateWindow body_rate_;
  size_t to_discard_ = 0;  // of the body of the request, should that be refused
  bool keeps_alive_ = false;
};

}  // namespace stdgate::http
