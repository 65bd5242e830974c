#include "transports/http/http1_body.h"

#include <algorithm>
#include <utility>

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

}  // namespace stdgate::http
