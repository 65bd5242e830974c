// Http1Head: the header block of one HTTP/1.1 request, checked and taken apart.
//
// HeadScanner finds the end of the block while bytes come in. It rejects at once what RFC 9112 lets
// a recipient repair, but what peers repair differently (request smuggling): bare CR or LF,
// obs-fold, space before the colon, control bytes. A TLS handshake, which need not contain a line
// end, is recognised by its first two bytes. Then Http1Head gives the whole block to llhttp, and
// judges the fields in combination: Host, Content-Length against Transfer-Encoding, Expect. Owner:
// a request of a connection, reused from one to the next. Views point into the head's own copy of
// the block, until the next parse(). Clients repeat themselves, so the copy also identifies a block
// that need not be parsed again. The copy is overwritten at the end.
#pragma once

#include <llhttp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "transports/http/request_head.h"

namespace stdgate::http {

// RFC 9112 sections 2.2, 5.1 and 5.2: lines end with CRLF, the empty line ends the block.
class HeadScanner {
 public:
  enum class Kind : uint8_t { request, trailers };
  enum class Result : uint8_t { incomplete, complete, failed };

  static constexpr size_t kLineSlack = 64;  // method, version and spaces beside the target

  void start(Kind kind, size_t limit);

  // `bytes` begins where it began the last time and has grown; what has been scanned is not scanned
  // again. An empty line before a request is skipped once (RFC 9112 section 2.2).
  Result scan(std::string_view bytes);

  // After complete: the block, its last empty line included, without what was skipped before it.
  [[nodiscard]] size_t block_begin() const { return block_begin_; }
  [[nodiscard]] size_t block_end() const { return line_begin_; }
  [[nodiscard]] const HeadError& error() const { return error_; }

 private:
  Result fail(int status, const char* reason, Refusal refusal = Refusal::other);
  [[nodiscard]] bool is_tls(std::string_view bytes) const;
  Result take_line(std::string_view line);
  Result check_limits(size_t size);

  Kind kind_ = Kind::request;
  bool first_line_ = true;
  size_t limit_ = 0;
  size_t block_begin_ = 0;
  size_t line_begin_ = 0;
  size_t scanned_ = 0;
  HeadError error_;
};

enum class BodyKind : uint8_t { none, length, chunked };

class Http1Head final : public RequestHead {
 public:
  static constexpr size_t kMaxField = 100;

  Http1Head() = default;
  ~Http1Head() { wipe(); }
  Http1Head(const Http1Head&) = delete;
  Http1Head& operator=(const Http1Head&) = delete;

  // `block` has passed HeadScanner.
  tl::expected<void, HeadError> parse(std::string_view block);

  // Whether `bytes` begin with the block that was parsed last. Then they are the same head: a block
  // ends with its first empty line, so nothing that follows belongs to it.
  [[nodiscard]] bool is_repeated_by(std::string_view bytes) const {
    return !block_.empty() && bytes.starts_with(block_);
  }
  // The block that was parsed last; empty when that failed.
  [[nodiscard]] std::string_view block() const { return block_; }
  // Overwrites the block; what was parsed is gone then.
  void wipe();
  // Gives the memory of a long block back; what was parsed is gone then.
  void forget_long_block();
  // Memory of the block, if it is a long one.
  [[nodiscard]] size_t long_block() const {
    return block_.capacity() > kMaxKeptBlock ? block_.capacity() : 0;
  }

  [[nodiscard]] bool http_1_0() const { return minor_ == 0; }
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }
  [[nodiscard]] bool expects_continue() const { return expects_continue_; }
  [[nodiscard]] BodyKind body_kind() const { return body_kind_; }
  [[nodiscard]] uint64_t content_length() const { return content_length_; }

 private:
  friend struct HeadCallbacks;  // what llhttp calls
  struct Framing;               // what the fields say about the body

  static constexpr size_t kMaxKeptBlock = 2048;

  tl::expected<void, HeadError> parse_block();
  [[nodiscard]] HeadError explain(llhttp_errno_t error) const;
  tl::expected<void, HeadError> take_fields(Framing& framing);
  tl::expected<void, HeadError> take_field(const HeaderField& field, Framing& framing);
  tl::expected<void, HeadError> take_host(const HeaderField& field, Framing& framing);
  tl::expected<void, HeadError> judge_body(const Framing& framing);

  std::string block_;
  llhttp_t parser_{};
  std::string_view target_;
  uint64_t content_length_ = 0;
  uint8_t minor_ = 1;
  BodyKind body_kind_ = BodyKind::none;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
  bool too_many_fields_ = false;
};

}  // namespace stdgate::http
