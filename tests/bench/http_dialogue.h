// Calls over HTTP/1.1, and the responses to them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "tests/bench/dialogue.h"

namespace stdgate::bench {

// HttpAnswer: one HTTP/1.1 response at the front of some bytes (RFC 9112), as far as the load
// generator needs it: status, head, and a body by Content-Length or in chunks.
//
// Pure; no more strict than telling answers apart demands.
struct HttpAnswer {
  int status = 0;
  std::string_view head;  // status line and header lines
  std::span<char> body;   // chunks are put together in place
  size_t size = 0;        // of the whole answer; 0: it is not complete
  size_t needed = 0;      // of one that is not complete: its size, or 0 when that is not known yet
};

// Errors: a constant phrase.
tl::expected<HttpAnswer, const char*> read_http_answer(std::span<char> bytes);
// The head alone; `size` is its size, with the empty line. 0: it is not complete.
tl::expected<HttpAnswer, const char*> read_http_head(std::span<char> bytes);

// The value of a header field, without white space around it; `name` in lower case. Empty: none.
std::string_view http_field(std::string_view head, std::string_view name);

// The message that is the answer's body, or that its last event has.
std::span<char> message_of(const HttpAnswer& answer);

// HttpDialogue: calls by POST, one at a time; and the plain requests of which only the status
// counts.
class HttpDialogue : public Dialogue {
 public:
  HttpDialogue(const LoadOptions& options, CallBook book, Channel& channel, Tally& tally);

  void begin() override;
  void begin_calls(Instant now) override;
  tl::expected<size_t, std::string> take(std::span<char> bytes, Instant now) override;

 protected:
  using Checked = tl::expected<void, std::string>;
  // What precedes the calls; the base has nothing.
  virtual Checked on_answer(const HttpAnswer& answer, Instant now);
  // `fields` are whole header lines.
  [[nodiscard]] std::string request_head(std::string_view method, std::string_view fields,
                                         size_t body_size) const;
  void prepare_calls(std::string_view fields);
  void close_call(const HttpAnswer& answer, std::span<char> message, Instant now);
  void call_again(Instant now);

  const LoadOptions& options_;
  Channel& channel_;
  CallBook book_;

 private:
  NumberedText request_;  // head and body
};

}  // namespace stdgate::bench
