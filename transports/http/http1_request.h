// Http1Request: the bytes of one HTTP/1.1 request after the other, as far as they are there.
// Http1Body: the body of one. SpareExchanges: the requests, with their exchanges, that wait for
// another connection.
//
// Job: read a request's head and body, or say what is wrong with them. Discard the body of a
// request that was refused by its head, where that keeps the connection. Say when a body is late,
// and whether the client lets the connection continue. Owner: a connection, which decides what is
// read next. No I/O. Limits: config limits; kMaxDiscard bytes of a discarded body, beyond which the
// connection ends.
#pragma once

#include <llhttp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gateway/base/byte_storage.h"
#include "gateway/config/config.h"
#include "gateway/policy/quotas.h"
#include "transports/http/client_connection.h"
#include "transports/http/exchange.h"
#include "transports/http/http1_head.h"
#include "transports/http/response.h"

namespace stdgate::http {

class Server;

// Http1Body: the body of one request, by Content-Length or chunked (RFC 9112 sections 6 and 7).
//
// Job: collect it into one contiguous piece, which it already is when it lies within one read; else
// in storage of the pool, which grows with what has come.
// Chunks are cut by llhttp; the trailer section, where llhttp is lenient, is scanned as strictly as
// a header block and dropped.
// Owner: a request, reused. Limits: `limit` bytes of body; kMaxFraming bytes of sizes and
// extensions beyond kMaxFramingPerChunk a chunk; kMaxTrailer bytes of trailers.
class Http1Body {
 public:
  static constexpr size_t kMaxFraming = 4096;
  static constexpr size_t kMaxFramingPerChunk = 32;
  static constexpr size_t kMaxTrailer = 4096;

  enum class State : uint8_t { reading, complete, failed, too_large };

  explicit Http1Body(StoragePool& storages) : collected_(storages) {}

  void start_length(uint64_t length);  // within the limit: the caller has looked
  void start_chunked(size_t limit);

  // Takes bytes from the front of `bytes`, which it may change, and returns how many. Stops at the
  // end of the body.
  size_t feed(std::span<char> bytes);
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const char* problem() const { return problem_; }  // when failed

  // Complete: the body; a view of the last fed bytes or of this reader's own memory.
  [[nodiscard]] std::span<char> body();
  // Offers the body's storage to the endpoint; nothing if the body is a view.
  [[nodiscard]] StorageOffer offer() { return collected_.offer(); }
  // Memory of what has come.
  [[nodiscard]] size_t held() const {
    return collected_.capacity() + (trailers_.empty() ? 0 : trailers_.capacity());
  }

  // Forgets the body and gives its storage back.
  void clear();

 private:
  friend struct ChunkCallbacks;  // what llhttp calls

  size_t feed_length(std::span<char> bytes);
  size_t feed_chunks(std::span<char> bytes);
  size_t feed_trailers(std::span<char> bytes);
  void fail(const char* problem);

  llhttp_t parser_{};
  PooledBuffer collected_;
  ByteQueue trailers_;
  HeadScanner trailer_scanner_;
  std::span<char> in_place_;
  uint64_t remaining_ = 0;
  size_t limit_ = 0;
  size_t framing_ = 0;  // bytes of chunk framing so far
  size_t chunks_ = 0;
  const char* problem_ = "";
  State state_ = State::complete;
  bool chunked_ = false;
  bool in_trailers_ = false;
};

// The answer to a request that cannot be read.
HttpError to_http_error(const HeadError& error);

class Http1Request {
 public:
  static constexpr size_t kMaxDiscard = 64 << 10;

  enum class Outcome : uint8_t { incomplete, complete, failed, too_large };
  // How many bytes were taken, and what they have completed.
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
  // Whether the body is late: by a pause, by its rate, or as a whole.
  bool is_body_late(TimePoint since, TimePoint now, uint64_t bytes_read);

  // Memory of what has come and is not bounded by usual sizes.
  [[nodiscard]] size_t held() const { return body_.held() + head_.long_block(); }
  // The request is not needed any more, except for the block of its head.
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

// The parts of a connection that it needs while it is used.
struct Http1Exchange {
  Http1Exchange(Server& server, Codec& codec);

  Http1Request request;
  Exchange exchange;
  std::unique_ptr<UpgradedConnection> successor{};  // null: HTTP goes on
};

// SpareExchanges: passes the exchanges of connections that have ended, or are still, on to the next
// ones. So clients that open a connection for each request cost little more than others.
//
// Each keeps the head that it parsed last and its judgement, unless that had credentials. Owner:
// the server, and each connection, which may outlive it by a turn of the loop. Limit: kMax are
// kept.
class SpareExchanges {
 public:
  static constexpr size_t kMax = 16;

  // The exchange that was given last, or a new one.
  std::unique_ptr<Http1Exchange> take(Server& server, Codec& codec);
  // One that rests. Called from the outermost level of the loop only.
  void give(std::unique_ptr<Http1Exchange> exchange);
  [[nodiscard]] size_t size() const { return spares_.size(); }

 private:
  std::vector<std::unique_ptr<Http1Exchange>> spares_;
};

}  // namespace stdgate::http
