#include "transports/http/http1_request.h"

#include <algorithm>
#include <utility>

#include "transports/http/server.h"

namespace stdgate::http {
namespace {

constexpr size_t kKeptTrailers = 16 << 10;
// A head that brings llhttp to the beginning of a chunked body.
constexpr std::string_view kChunkedHead =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

struct ChunkCallbacks {
  static Http1Body& reader(llhttp_t* parser) { return *static_cast<Http1Body*>(parser->data); }

  static int on_body(llhttp_t* parser, const char* at, size_t size) {
    Http1Body& self = reader(parser);
    self.collected_.append_announced({at, size}, self.limit_ - self.collected_.size());
    return 0;
  }
  static int on_chunk_header(llhttp_t* parser) {
    Http1Body& self = reader(parser);
    ++self.chunks_;
    if (parser->content_length == 0) {
      self.in_trailers_ = true;
      return HPE_PAUSED;
    }
    if (parser->content_length > self.limit_ - self.collected_.size()) {
      self.state_ = Http1Body::State::too_large;
      return HPE_PAUSED;
    }
    return 0;
  }

  static llhttp_settings_t settings() {
    llhttp_settings_t settings;
    llhttp_settings_init(&settings);
    settings.on_body = on_body;
    settings.on_chunk_header = on_chunk_header;
    return settings;
  }
};

void Http1Body::start_length(uint64_t length) {
  chunked_ = false;
  remaining_ = length;
  state_ = State::reading;
}

void Http1Body::start_chunked(size_t limit) {
  static const llhttp_settings_t kSettings = ChunkCallbacks::settings();
  chunked_ = true;
  in_trailers_ = false;
  limit_ = limit;
  framing_ = chunks_ = 0;
  state_ = State::reading;
  llhttp_init(&parser_, HTTP_REQUEST, &kSettings);
  parser_.data = this;
  llhttp_execute(&parser_, kChunkedHead.data(), kChunkedHead.size());
}

size_t Http1Body::feed(std::span<char> bytes) {
  if (!chunked_) return feed_length(bytes);
  size_t taken = 0;
  if (!in_trailers_) taken = feed_chunks(bytes);
  if (in_trailers_ && state_ == State::reading) taken += feed_trailers(bytes.subspan(taken));
  return taken;
}

size_t Http1Body::feed_length(std::span<char> bytes) {
  const size_t size = static_cast<size_t>(std::min<uint64_t>(remaining_, bytes.size()));
  if (collected_.empty() && size == remaining_) {
    in_place_ = bytes.first(size);
  } else {
    collected_.append_announced({bytes.data(), size}, remaining_);
  }
  remaining_ -= size;
  if (remaining_ == 0) state_ = State::complete;
  return size;
}

size_t Http1Body::feed_chunks(std::span<char> bytes) {
  const size_t collected = collected_.size();
  const llhttp_errno_t error = llhttp_execute(&parser_, bytes.data(), bytes.size());
  size_t taken = bytes.size();
  if (error == HPE_PAUSED) {
    taken = static_cast<size_t>(llhttp_get_error_pos(&parser_) - bytes.data());
  } else if (error != HPE_OK) {
    fail("malformed chunk");
    return bytes.size();
  }
  framing_ += taken - (collected_.size() - collected);
  if (framing_ > kMaxFraming + kMaxFramingPerChunk * chunks_) fail("too much chunk framing");
  if (in_trailers_) trailer_scanner_.start(HeadScanner::Kind::trailers, kMaxTrailer);
  return taken;
}

size_t Http1Body::feed_trailers(std::span<char> bytes) {
  const size_t before = trailers_.size();
  trailers_.append({bytes.data(), bytes.size()});
  switch (trailer_scanner_.scan(trailers_.view())) {
    case HeadScanner::Result::incomplete:
      break;
    case HeadScanner::Result::failed:
      fail("malformed trailers");
      break;
    case HeadScanner::Result::complete:
      state_ = State::complete;
      return trailer_scanner_.block_end() - before;
  }
  return bytes.size();
}

void Http1Body::fail(const char* problem) {
  problem_ = problem;
  state_ = State::failed;
}

std::span<char> Http1Body::body() { return in_place_.empty() ? collected_.bytes() : in_place_; }

void Http1Body::clear() {
  collected_.release();
  trailers_.clear();
  trailers_.release_memory(kKeptTrailers);
  in_place_ = {};
}

HttpError to_http_error(const HeadError& error) {
  const bool is_plain = error.refusal == Refusal::other && error.status == 400;
  return {.status = error.status,
          .message = error.reason,
          .refusal = is_plain ? Refusal::bad_head : error.refusal};
}

// --- The head ------------------------------------------------------------------------------------

Http1Request::Step Http1Request::read_head(std::span<char> bytes) {
  const std::string_view text(bytes.data(), bytes.size());
  if (head_.is_repeated_by(text)) return {head_.block().size(), Outcome::complete};
  // The head differs, and need not be compared with each further byte.
  if (text.size() >= head_.block().size()) head_.wipe();
  switch (scanner_.scan(text)) {
    case HeadScanner::Result::incomplete:
      return {.is_new = true};
    case HeadScanner::Result::failed:
      return {0, Outcome::failed, scanner_.error(), true};
    case HeadScanner::Result::complete:
      break;
  }
  const size_t begin = scanner_.block_begin();
  const size_t end = scanner_.block_end();
  const auto parsed = head_.parse(text.substr(begin, end - begin));
  if (!parsed) return {end, Outcome::failed, parsed.error(), true};
  return {.taken = end, .outcome = Outcome::complete, .is_new = true};
}

// An answer before the body has been read has to close, unless the body can be discarded: what
// follows is no request.
void Http1Request::take_head(bool body_has_begun) {
  to_discard_ = discardable(head_, body_has_begun);
  keeps_alive_ = head_.keep_alive() && (!head_.has_body() || to_discard_ > 0);
}

// Bytes of the body that can be read for nothing to keep the connection. None if the client may
// leave it out, as it waits for 100 Continue (RFC 9110 section 10.1.1).
size_t Http1Request::discardable(const Http1Head& head, bool body_has_begun) {
  const bool is_known = head.method() == Method::post && head.body_kind() == BodyKind::length &&
                        head.content_length() <= kMaxDiscard;
  if (!is_known || (head.expects_continue() && !body_has_begun)) return 0;
  return static_cast<size_t>(head.content_length());
}

// --- The body ------------------------------------------------------------------------------------

Http1Request::Outcome Http1Request::start_body(TimePoint now, uint64_t bytes_read) {
  to_discard_ = 0;
  keeps_alive_ = false;  // until all of it has been read
  if (head_.body_kind() == BodyKind::chunked) {
    body_.start_chunked(limits_.message);
  } else if (head_.content_length() > limits_.message) {
    return Outcome::too_large;
  } else {
    body_.start_length(head_.content_length());
  }
  body_since_ = now;
  body_rate_.begin(now, bytes_read);
  return Outcome::incomplete;
}

Http1Request::Step Http1Request::read_body(std::span<char> bytes) {
  const size_t taken = body_.feed(bytes);
  switch (body_.state()) {
    case Http1Body::State::reading:
      break;
    case Http1Body::State::complete:
      keeps_alive_ = head_.keep_alive();
      return {taken, Outcome::complete};
    case Http1Body::State::failed:
      return {taken, Outcome::failed, {400, body_.problem(), Refusal::bad_body}};
    case Http1Body::State::too_large:
      return {taken, Outcome::too_large};
  }
  return {taken, Outcome::incomplete};
}

Http1Request::Step Http1Request::discard(std::span<char> bytes) {
  const size_t taken = std::min(to_discard_, bytes.size());
  to_discard_ -= taken;
  return {taken, to_discard_ > 0 ? Outcome::incomplete : Outcome::complete};
}

TimePoint Http1Request::body_due(TimePoint since) const {
  return std::min(
      {since + timeouts_.body, body_rate_.due(timeouts_.body), body_since_ + timeouts_.request});
}

bool Http1Request::is_body_late(TimePoint since, TimePoint now, uint64_t bytes_read) {
  return now >= since + timeouts_.body || now >= body_since_ + timeouts_.request ||
         body_rate_.is_slow(now, timeouts_.body, limits_.min_rate,
                            [bytes_read] { return bytes_read; });
}

void Http1Request::leave() {
  to_discard_ = 0;
  keeps_alive_ = false;
  if (head_.has_credentials()) head_.wipe();
}

void Http1Request::rest() {
  head_.forget_long_block();
  body_.clear();
}

Http1Exchange::Http1Exchange(Server& server, Codec& codec)
    : request(server.services().loop.storages(), server.services().limits,
              server.services().timeouts),
      exchange(server, codec, request.head()) {}

std::unique_ptr<Http1Exchange> SpareExchanges::take(Server& server, Codec& codec) {
  if (spares_.empty()) return std::make_unique<Http1Exchange>(server, codec);
  std::unique_ptr<Http1Exchange> exchange = std::move(spares_.back());
  spares_.pop_back();
  exchange->exchange.serve_for(codec);
  return exchange;
}

void SpareExchanges::give(std::unique_ptr<Http1Exchange> exchange) {
  if (exchange == nullptr || spares_.size() == kMax) return;
  exchange->successor.reset();  // the client may have gone before it took over
  exchange->exchange.leave();
  exchange->request.leave();
  spares_.push_back(std::move(exchange));
}

}  // namespace stdgate::http
