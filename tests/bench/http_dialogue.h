// Calls over HTTP/1.1 and their responses.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "tests/bench/dialogue.h"

namespace stdgate::bench {

// HttpAnswer: an HTTP/1.1 response at the front of some bytes (RFC 9112). It has what the load
// generator needs: the status, the head, and a body by Content-Length or in chunks.
//
// Parsing has no side effects, and is only as strict as it must be to separate answers.
struct HttpAnswer {
  int status = 0;
  std::string_view head;  // status line and header lines
  std::span<char> body;   // with its chunks joined in place
  size_t size = 0;        // of the whole answer; 0: incomplete
  size_t needed = 0;      // size of an incomplete answer; 0: not known yet
};

// Errors are constant phrases.
tl::expected<HttpAnswer, const char*> read_http_answer(std::span<char> bytes);
// Only the head. `size` is the size of the head with its empty line; 0: incomplete.
tl::expected<HttpAnswer, const char*> read_http_head(std::span<char> bytes);

// The value of a header field without surrounding white space; empty: absent. `name` in lower case.
std::string_view http_field(std::string_view head, std::string_view name);

// The message in the answer: its body, or the data of its last event.
std::span<char> message_of(const HttpAnswer& answer);

// HttpDialogue: calls by POST, one at a time; and plain requests, where only the status counts.
class HttpDialogue : public Dialogue {
 public:
  HttpDialogue(const LoadOptions& options, CallBook book, Channel& channel, Tally& tally);

  void begin() override;
  void begin_calls(Instant now) override;
  tl::expected<size_t, std::string> take(std::span<char> bytes, Instant now) override;

 protected:
  using Checked = tl::expected<void, std::string>;
  // Handles answers that come before the calls. This class has none.
  virtual Checked on_answer(const HttpAnswer& answer, Instant now);
  // `fields`: whole header lines.
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
