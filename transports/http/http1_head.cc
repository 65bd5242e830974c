#include "transports/http/http1_head.h"

#include <algorithm>
#include <cstring>  // explicit_bzero()

#include "gateway/base/addresses.h"
#include "transports/http/field_value.h"

namespace stdgate::http {

namespace {

// method SP target SP version, each without spaces (RFC 9112 section 3).
const char* request_line_problem(std::string_view line) {
  for (const char c : line) {
    if (c < 0x20 || c > 0x7e) return "forbidden byte in the request line";
  }
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == last || line.find(' ', first + 1) != last || last == first + 1 ||
      !is_token(line.substr(0, first))) {
    return "malformed request line";
  }
  return nullptr;
}

const char* field_line_problem(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') return "folded header line";
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return "header line without a colon";
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name)) return "bad header name";
  // A server behind may take it for the name with a hyphen, as CGI does.
  if (name.find('_') != std::string_view::npos) return "header name with an underscore";
  if (!is_field_value(line.substr(colon + 1))) return "forbidden byte in a header value";
  return nullptr;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "HTTP/d.d" (RFC 9112 section 2.3).
bool is_http_version(std::string_view text) {
  return text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' &&
         is_digit(text[7]);
}

Method method_of(uint8_t parsed) {
  switch (parsed) {
    case HTTP_GET:
      return Method::get;
    case HTTP_HEAD:
      return Method::head;
    case HTTP_POST:
      return Method::post;
    case HTTP_DELETE:
      return Method::del;
    case HTTP_OPTIONS:
      return Method::options;
    default:
      return Method::other;
  }
}

tl::unexpected<HeadError> bad_request(const char* reason) {
  return tl::unexpected<HeadError>(HeadError{400, reason});
}

}  // namespace

// --- HeadScanner ---------------------------------------------------------------------------------

void HeadScanner::start(Kind kind, size_t limit) {
  *this = HeadScanner();
  kind_ = kind;
  first_line_ = kind == Kind::request;
  limit_ = limit;
}

HeadScanner::Result HeadScanner::fail(int status, const char* reason, Refusal refusal) {
  error_ = HeadError{status, reason, refusal};
  return Result::failed;
}

// A record of type handshake, of any version of TLS (RFC 8446 section 5.1).
bool HeadScanner::is_tls(std::string_view bytes) const {
  return first_line_ && line_begin_ == 0 && bytes.starts_with("\x16\x03");
}

HeadScanner::Result HeadScanner::scan(std::string_view bytes) {
  if (is_tls(bytes)) {
    return fail(400, "this port speaks plain HTTP, not TLS; use http:// or ws://",
                Refusal::tls_on_plain_port);
  }
  while (scanned_ < bytes.size()) {
    const char* from = bytes.data() + scanned_;
    const void* found = std::memchr(from, '\n', bytes.size() - scanned_);
    if (found == nullptr) break;
    const size_t line_feed = static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
    // The first mistake is reported, however the bytes come.
    if (const Result size = check_limits(line_feed); size != Result::incomplete) return size;
    const std::string_view line = bytes.substr(line_begin_, line_feed - line_begin_);
    if (line.empty() || line.back() != '\r') return fail(400, "line ended by LF alone");
    scanned_ = line_begin_ = line_feed + 1;
    const Result result = take_line(line.substr(0, line.size() - 1));
    if (result != Result::incomplete) return result;
  }
  scanned_ = bytes.size();
  return check_limits(bytes.size());
}

HeadScanner::Result HeadScanner::take_line(std::string_view line) {
  if (const Result result = check_limits(line_begin_); result != Result::incomplete) return result;
  if (line.empty()) {
    if (!first_line_) return Result::complete;
    if (block_begin_ != 0) return fail(400, "empty lines before the request");
    block_begin_ = line_begin_;
    return Result::incomplete;
  }
  const char* problem = first_line_ ? request_line_problem(line) : field_line_problem(line);
  first_line_ = false;
  return problem == nullptr ? Result::incomplete : fail(400, problem);
}

HeadScanner::Result HeadScanner::check_limits(size_t size) {
  constexpr size_t kMaxLine = RequestHead::kMaxTarget + kLineSlack;
  // The smaller limit is reached first, however the bytes come.
  if (first_line_ && kMaxLine < limit_ && size - block_begin_ > kMaxLine) {
    return fail(414, "request target too long");
  }
  if (size - block_begin_ > limit_) return fail(431, "header block too large");
  return Result::incomplete;
}

// --- Http1Head -----------------------------------------------------------------------------------

struct HeadCallbacks {
  static Http1Head& head(llhttp_t* parser) { return *static_cast<Http1Head*>(parser->data); }

  // The block is contiguous, so a span that llhttp reports in pieces is one view.
  static void extend(std::string_view& view, const char* at, size_t size) {
    view = view.empty()
               ? std::string_view(at, size)
               : std::string_view(view.data(), static_cast<size_t>(at - view.data()) + size);
  }
  static int on_url(llhttp_t* parser, const char* at, size_t size) {
    extend(head(parser).target_, at, size);
    return 0;
  }
  static int on_field(llhttp_t* parser, const char* at, size_t size) {
    auto& fields = head(parser).fields_;
    if (fields.empty() || fields.back().value.data() != nullptr) fields.emplace_back();
    extend(fields.back().name, at, size);
    head(parser).too_many_fields_ = fields.size() > Http1Head::kMaxField;
    return head(parser).too_many_fields_ ? -1 : 0;
  }
  static int on_value(llhttp_t* parser, const char* at, size_t size) {
    extend(head(parser).fields_.back().value, at, size);
    return 0;
  }

  static llhttp_settings_t settings() {
    llhttp_settings_t settings;
    llhttp_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_header_field = on_field;
    settings.on_header_value = on_value;
    return settings;
  }
};

struct Http1Head::Framing {
  bool has_host = false;
  bool has_length = false;
  bool has_transfer_encoding = false;
  bool last_is_chunked = false;
  uint32_t codings = 0;
  uint32_t chunked = 0;
  bool close = false;
  bool keep_alive = false;
};

tl::expected<void, HeadError> Http1Head::parse(std::string_view block) {
  block_ = block;
  auto parsed = parse_block();
  if (!parsed) wipe();  // how far it was read is not known
  return parsed;
}

void Http1Head::wipe() {
  clear();
  target_ = {};
  explicit_bzero(block_.data(), block_.size());
  block_.clear();
}

void Http1Head::forget_long_block() {
  if (block_.capacity() > kMaxKeptBlock) std::string().swap(block_);
}

tl::expected<void, HeadError> Http1Head::parse_block() {
  static const llhttp_settings_t kSettings = HeadCallbacks::settings();
  clear();
  target_ = {};
  body_kind_ = BodyKind::none;
  content_length_ = 0;
  expects_continue_ = too_many_fields_ = false;

  llhttp_init(&parser_, HTTP_REQUEST, &kSettings);
  parser_.data = this;
  const llhttp_errno_t error = llhttp_execute(&parser_, block_.data(), block_.size());
  // An upgrade is never made: Upgrade may be ignored (RFC 9110 section 7.8), CONNECT fails below.
  if (error != HPE_OK && error != HPE_PAUSED_UPGRADE) {
    return tl::unexpected<HeadError>(explain(error));
  }
  if (parser_.http_major != 1) return tl::unexpected<HeadError>(HeadError{505, "not HTTP/1.1"});
  minor_ = parser_.http_minor;
  method_ = method_of(parser_.method);
  method_text_ = block().substr(0, block().find(' '));
  Framing framing;
  if (auto taken = take_fields(framing); !taken) return taken;
  if (parser_.method == HTTP_CONNECT) {
    return tl::unexpected<HeadError>(HeadError{501, "stdgate is not a forward proxy"});
  }
  if (auto taken = take_target(target_); !taken) return taken;
  if (!framing.has_host && minor_ != 0) return bad_request("no Host");
  lacks_authority_ = !framing.has_host && authority_.empty();
  keep_alive_ = !framing.close && (minor_ != 0 || framing.keep_alive);
  return judge_body(framing);
}

// llhttp has one error for all of these; the client is told whether the version, the method or the
// syntax is wrong.
HeadError Http1Head::explain(llhttp_errno_t error) const {
  const std::string_view block = block_;
  if (too_many_fields_) return {431, "too many header fields"};
  const std::string_view line = block.substr(0, block.find('\r'));
  const size_t last = line.rfind(' ');
  if (!is_http_version(line.substr(last + 1))) return {400, "malformed request line"};
  if (line[last + 6] != '1' || error == HPE_INVALID_VERSION) {
    return {505, "HTTP version not supported"};
  }
  switch (error) {
    case HPE_INVALID_METHOD:
    case HPE_INVALID_CONSTANT:
      return {501, "unknown method"};
    case HPE_INVALID_URL:
      return {400, "malformed request target"};
    case HPE_UNEXPECTED_CONTENT_LENGTH:
      return {400, "ambiguous body length"};
    case HPE_INVALID_CONTENT_LENGTH:
      return {400, "malformed Content-Length"};
    case HPE_INVALID_TRANSFER_ENCODING:
      return {400, "chunked is not the last transfer coding"};
    default:
      return {400, "malformed header block"};
  }
}

tl::expected<void, HeadError> Http1Head::take_fields(Framing& framing) {
  for (HeaderField& field : fields_) {
    field.value = trim(field.value);
    note_field(field);
    if (auto taken = take_field(field, framing); !taken) return taken;
  }
  return {};
}

tl::expected<void, HeadError> Http1Head::take_field(const HeaderField& field, Framing& framing) {
  switch (field.name.size()) {
    case 4:
      if (equals_ignoring_case(field.name, "host")) return take_host(field, framing);
      break;
    case 6:
      if (!equals_ignoring_case(field.name, "expect") || minor_ == 0) break;
      if (!equals_ignoring_case(field.value, "100-continue")) {
        return tl::unexpected<HeadError>(HeadError{417, "unknown expectation"});
      }
      expects_continue_ = true;
      break;
    case 10:
      if (!equals_ignoring_case(field.name, "connection")) break;
      for_each_element(field.value, ',', [&](std::string_view option) {
        if (equals_ignoring_case(option, "close")) framing.close = true;
        if (equals_ignoring_case(option, "keep-alive")) framing.keep_alive = true;
      });
      break;
    case 14:
      if (!equals_ignoring_case(field.name, "content-length")) break;
      if (framing.has_length) return bad_request("more than one Content-Length");
      framing.has_length = true;
      if (const auto length = parse_digits(field.value)) {
        content_length_ = *length;
      } else {
        return bad_request("malformed Content-Length");
      }
      break;
    case 17:
      if (!equals_ignoring_case(field.name, "transfer-encoding")) break;
      framing.has_transfer_encoding = true;
      for_each_element(field.value, ',', [&](std::string_view coding) {
        framing.last_is_chunked = equals_ignoring_case(coding, "chunked");
        framing.chunked += framing.last_is_chunked ? 1 : 0;
        ++framing.codings;
      });
      break;
    default:
      break;
  }
  return {};
}

// RFC 9112 section 3.2: exactly one, and a valid one.
tl::expected<void, HeadError> Http1Head::take_host(const HeaderField& field, Framing& framing) {
  if (framing.has_host) return bad_request("more than one Host");
  framing.has_host = true;
  if (!field.value.empty() && !is_authority(field.value)) return bad_request("malformed Host");
  authority_ = field.value;
  return {};
}

// RFC 9112 section 6.3, without any of the repairs that it allows.
tl::expected<void, HeadError> Http1Head::judge_body(const Framing& framing) {
  if (!framing.has_transfer_encoding) {
    has_body_ = content_length_ > 0;
    if (has_body_) body_kind_ = BodyKind::length;
    return {};
  }
  if (framing.has_length) return bad_request("both Content-Length and Transfer-Encoding");
  if (minor_ == 0) return bad_request("Transfer-Encoding in HTTP/1.0");
  if (!framing.last_is_chunked) return bad_request("chunked is not the last transfer coding");
  if (framing.chunked != 1) return bad_request("chunked is repeated");
  if (framing.codings != 1) {
    return tl::unexpected<HeadError>(HeadError{501, "unknown transfer coding"});
  }
  has_body_ = true;
  body_kind_ = BodyKind::chunked;
  return {};
}

}  // namespace stdgate::http
