// HttpAnswer: one HTTP/1.1 response at the front of some bytes (RFC 9112), as far as the load
// generator needs it: status, head, and a body by Content-Length or in chunks.
//
// Pure; no more strict than telling answers apart demands.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate::bench {

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

}  // namespace stdgate::bench
