// Fuzz target: the end of a request's head is found at the same place however its bytes arrive. Its
// parts lie within it. An admitted head cannot be read as two requests.

#include <string>

#include "gateway/base/addresses.h"
#include "gateway/base/text.h"
#include "tests/fuzz/fuzz_target.h"
#include "transports/http/authentication.h"
#include "transports/http/field_value.h"
#include "transports/http/http1_head.h"
#include "transports/http/request_head.h"

namespace stdgate::test::head_fuzz {
namespace {

using http::HeadScanner;

constexpr size_t kLimit = 2048;

bool lies_within(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

struct Scan {
  HeadScanner::Result result = HeadScanner::Result::incomplete;
  size_t begin = 0;
  size_t end = 0;
  int status = 0;
  friend bool operator==(const Scan&, const Scan&) = default;
};

// Scans in pieces of `piece` bytes.
Scan scan(std::string_view bytes, size_t piece) {
  HeadScanner scanner;
  scanner.start(HeadScanner::Kind::request, kLimit);
  Scan scan;
  for (size_t at = std::min(piece, bytes.size());; at = std::min(at + piece, bytes.size())) {
    scan.result = scanner.scan(bytes.substr(0, at));
    if (scan.result != HeadScanner::Result::incomplete || at == bytes.size()) break;
  }
  if (scan.result == HeadScanner::Result::complete) {
    scan.begin = scanner.block_begin();
    scan.end = scanner.block_end();
  } else if (scan.result == HeadScanner::Result::failed) {
    scan.status = scanner.error().status;
  }
  return scan;
}

size_t count_of(const http::RequestHead& head, std::string_view lower_name) {
  size_t count = 0;
  for (const http::HeaderField& field : head.fields()) {
    if (equals_ignoring_case(field.name, lower_name)) ++count;
  }
  return count;
}

void check_parts(const http::Http1Head& head, std::string_view input) {
  const std::string_view block = head.block();
  for (const std::string_view part : {head.path(), head.query(), head.authority()}) {
    // An absolute target without a path gets the root's path, which is not in the block.
    require(lies_within(part, block) || part == "/", "parts lie within the block", input);
  }
  for (const http::HeaderField& field : head.fields()) {
    require(lies_within(field.name, block) && lies_within(field.value, block),
            "fields lie within the block", input);
    require(field.name.find_first_of(" \t\r\n_") == std::string_view::npos,
            "no name that peers could spell differently", input);
    require(field.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
            "no value ends a line", input);
  }
  require(count_of(head, "content-length") + count_of(head, "transfer-encoding") <= 1,
          "one field says where the body ends", input);
  require(count_of(head, "host") <= 1, "one field names the host", input);
  http::DecodedCredential decoded;
  require(count_of(head, "authorization") <= 1 || !http::read_credential(head, decoded).has_value(),
          "nobody is judged by one of two credentials", input);
  require(head.http_1_0() || !head.authority().empty() || head.find("host") != nullptr,
          "HTTP/1.1 names its host", input);
}

void check_target(const http::Http1Head& head, std::string_view input) {
  if (is_percent_encoded(head.path())) {
    std::string scratch;
    const std::string_view decoded = http::percent_decode(head.path(), scratch);
    require(decoded.size() <= head.path().size(), "decoding makes nothing longer", input);
  }
  for (const char* name : {"method", "params", "session"}) {
    const auto value = http::query_parameter(head.query(), name);
    require(!value || value->size() <= head.query().size(), "a value is part of the query", input);
  }
}

void check(std::string_view bytes) {
  const Scan whole = scan(bytes, bytes.size() + 1);
  require(whole == scan(bytes, 1), "bytes one by one are the same head", bytes);
  require(whole == scan(bytes, 7), "bytes in pieces are the same head", bytes);
  if (whole.result != HeadScanner::Result::complete) return;
  require(whole.begin < whole.end && whole.end <= bytes.size(), "the block has bytes", bytes);
  const std::string_view block = bytes.substr(whole.begin, whole.end - whole.begin);
  http::Http1Head head;
  if (const auto parsed = head.parse(block); !parsed) {
    require(parsed.error().status >= 400 && parsed.error().status < 600, "a status says why",
            bytes);
    require(*parsed.error().reason != '\0', "and so does a phrase", bytes);
    return;
  }
  check_parts(head, bytes);
  check_target(head, bytes);
  require(head.is_repeated_by(block), "the same block is the same head", bytes);
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::head_fuzz
